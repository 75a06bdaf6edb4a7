/// The attributes that an item's program gave it, without those that the provider adds.
///
/// KeePassXC returns the fields of the entry that is the item with every item, and finds only by
/// the program's own.
///
/// Source: src/fdosecrets/objects/Item.cpp in https://github.com/keepassxreboot/keepassxc.
enum GivenAttributes {
  /// The ones that only KeePassXC has, and no program can set.
  private static let marks: Set = ["Uuid", "Path"]
  private static let fields: Set = ["Title", "UserName", "URL", "Notes"]

  static func of(_ attributes: [String: String]) -> [String: String] {
    guard isOfKeePassXC(attributes) else { return attributes }
    return attributes.filter { !marks.contains($0.key) && !fields.contains($0.key) }
  }

  /// Returns whether a person made the item in KeePassXC: no other program gave it attributes.
  static func isEntryOfKeePassXC(_ attributes: [String: String]) -> Bool {
    isOfKeePassXC(attributes) && of(attributes).isEmpty
  }

  private static func isOfKeePassXC(_ attributes: [String: String]) -> Bool {
    marks.isSubset(of: attributes.keys)
  }
}
