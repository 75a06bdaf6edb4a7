package import SessionToolsBase

/// The items that the processes of a history share, and the values that they put there.
///
/// A group is a namespace, so that listing it observes all of its items at once.
package enum SharedItems {
  package static let groupCount = 8

  package static func namespace(group: Int) throws(StoreError) -> StoreNamespace {
    try StoreNamespace(service: "group-\(group)")
  }

  package static func name(group: Int, item: Int) throws(StoreError) -> ItemName {
    try ItemName("item-\(item)", in: namespace(group: group))
  }

  /// Returns the value of a number: its eight bytes, repeated up to about a thousand bytes.
  ///
  /// A mixture of two values is thus not a value, and journals grow enough to be compacted.
  package static func value(_ number: UInt64) -> SecretBytes {
    let word = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    return SecretBytes([[UInt8]](repeating: word, count: count(of: number)).flatMap { $0 })
  }

  /// Returns the number of a value; `nil` for bytes that are not the value of any number.
  package static func number(of value: SecretBytes) -> UInt64? {
    let bytes = value.copyBytes()
    guard bytes.count >= 8 else { return nil }
    let number = bytes[..<8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return value == Self.value(number) ? number : nil
  }

  /// Returns what a store holds of a group; `nil` when a value is not the value of any number.
  package static func state(
    ofGroup group: Int, in store: some SecretStore
  ) throws(StoreError) -> GroupState? {
    var items = GroupState.zero
    for item in 0..<GroupState.scalarCount {
      guard let value = try store.value(for: name(group: group, item: item)) else {
        items[item] = ItemWord.absent
        continue
      }
      guard let number = number(of: value) else { return nil }
      items[item] = number
    }
    return items
  }

  private static func count(of number: UInt64) -> Int { 1 + Int(number % 127) }
}
