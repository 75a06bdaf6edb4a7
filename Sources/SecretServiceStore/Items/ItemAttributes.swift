package import SecretStores

/// The attributes by which the service finds an item: every item of ours has the same ones.
///
/// Providers replace an existing item that has all attributes of a new one, even if it has more. So
/// every item has all of these attributes, and the value of one of them is unique to the item.
/// Other programs use none of these names but the schema.
///
/// All programs in the session can read them, also while the collection is locked.
package enum ItemAttributes {
  static let version = "session-tools:version"
  static let identity = "session-tools:id"
  static let service = "session-tools:service"
  static let accessGroup = "session-tools:access-group"
  static let install = "session-tools:install"
  static let identifier = "session-tools:identifier"
  static let size = "session-tools:size"
  /// Written for programs that list items by kind, and never searched for: a provider that was just
  /// started, and is still locked, finds nothing by it.
  static let schema = "xdg:schema"

  /// Whether an item can be read together with hundreds of others.
  ///
  /// The bus disconnects a sender of more than 128 MiB at once, which would be the provider. So the
  /// sizes must be known before a request. An item that was large once may keep this attribute.
  package enum Size: String {
    case small, large

    /// The largest value of a small item, in bytes.
    private static let maximumByteCount = 32 << 10

    package init(of value: SecretBytes) {
      self = value.byteCount <= Self.maximumByteCount ? .small : .large
    }
  }

  package static func all(of name: ItemName, size: Size) -> [String: String] {
    var attributes = inNamespace(name.namespace, size: size)
    attributes[identity] = identityText(of: name)
    attributes[identifier] = EscapedName.escape(name.identifier)
    attributes[schema] = "org.session-tools.Item"
    return attributes
  }

  /// Returns the attributes that only the item of a name has; with a size, only while it has that
  /// size.
  static func identity(of name: ItemName, size: Size? = nil) -> [String: String] {
    var attributes = [identity: identityText(of: name)]
    attributes[Self.size] = size?.rawValue
    return attributes
  }

  /// Returns the attributes of all items of a namespace and a size; of all namespaces when `nil`.
  static func inNamespace(_ namespace: StoreNamespace?, size: Size) -> [String: String] {
    var attributes = [version: "1", Self.size: size.rawValue]
    if let namespace {
      attributes[service] = EscapedName.escape(namespace.service)
      // No name is empty, so an empty text means an absent part.
      attributes[accessGroup] = namespace.accessGroup.map { EscapedName.escape($0) } ?? ""
      attributes[install] = namespace.install.map { EscapedName.escape($0.rawValue) } ?? ""
    }
    return attributes
  }

  /// Returns the name of an item with these attributes; `nil` when they are not ours, or were
  /// changed.
  package static func name(of attributes: [String: String]) -> ItemName? {
    guard let service = name(attributes[service]),
      let group = part(attributes[accessGroup]), let install = part(attributes[install]),
      let identifier = name(attributes[identifier]),
      let namespace = try? StoreNamespace(
        service: service, accessGroup: group,
        install: install.map { InstallIdentifier(rawValue: $0) }),
      let name = try? ItemName(identifier, in: namespace),
      attributes[identity] == identityText(of: name)
    else { return nil }
    return name
  }

  private static func name(_ attribute: String?) -> String? {
    attribute.flatMap { EscapedName.unescape($0) }
  }

  /// Returns `.some(nil)` for an absent part, and `nil` for an invalid attribute.
  private static func part(_ attribute: String?) -> String?? {
    guard let attribute else { return nil }
    guard !attribute.isEmpty else { return .some(nil) }
    return name(attribute).map { .some($0) }
  }

  private static func identityText(of name: ItemName) -> String {
    Checksum.hexadecimal(of: name.canonicalBytes)
  }
}

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
