package import SessionToolsBase

/// The attributes by which the service finds an item: the same names for every item of ours.
///
/// Providers take an item that has all attributes of a new one for the one to be replaced, and
/// some more attributes do not make it another. So every item has all of these names, and one of
/// them is the item's alone. None is a name that other programs use.
///
/// Anyone in the session can read them, also while the collection is locked.
package enum ItemAttributes {
  static let version = "session-tools:version"
  static let identity = "session-tools:id"
  static let service = "session-tools:service"
  static let accessGroup = "session-tools:access-group"
  static let install = "session-tools:install"
  static let identifier = "session-tools:identifier"
  static let size = "session-tools:size"
  /// Written for those who list items by kind, and never asked for: a provider that was just
  /// started, and is still locked, finds nothing by it.
  static let schema = "xdg:schema"

  /// Whether an item can be asked for together with hundreds of others.
  ///
  /// The bus cuts off who sends it more than 128 MiB at once, and that would be the provider. So
  /// what is asked for at once has to be known before. An item that was large once may stay so.
  package enum Size: String {
    case small, large

    /// The largest value of a small item, in bytes.
    private static let largestByteCount = 32 << 10

    package init(of value: SecretBytes) {
      self = value.byteCount <= Self.largestByteCount ? .small : .large
    }
  }

  package static func all(of key: StoreKey, size: Size) -> [String: String] {
    var attributes = inNamespace(key.namespace, size: size)
    attributes[identity] = identityText(of: key)
    attributes[identifier] = EscapedName.escape(key.identifier)
    attributes[schema] = "org.session-tools.Item"
    return attributes
  }

  /// What the item of a key has, and no other; only when it has a size, if one is given.
  static func identity(of key: StoreKey, size: Size? = nil) -> [String: String] {
    var attributes = [identity: identityText(of: key)]
    attributes[Self.size] = size?.rawValue
    return attributes
  }

  /// What all items of a namespace and a size have; of all namespaces when `nil`.
  static func inNamespace(_ namespace: Namespace?, size: Size) -> [String: String] {
    var attributes = [version: "1", Self.size: size.rawValue]
    if let namespace {
      attributes[service] = EscapedName.escape(namespace.service)
      // No name is empty, so an absent part can be told.
      attributes[accessGroup] = namespace.accessGroup.map { EscapedName.escape($0) } ?? ""
      attributes[install] = namespace.install.map { EscapedName.escape($0.rawValue) } ?? ""
    }
    return attributes
  }

  /// The key of an item with these attributes; `nil` when they are not ours, or were changed.
  package static func key(of attributes: [String: String]) -> StoreKey? {
    guard let service = name(attributes[service]),
      let group = part(attributes[accessGroup]), let install = part(attributes[install]),
      let identifier = name(attributes[identifier]),
      let namespace = try? Namespace(
        service: service, accessGroup: group,
        install: install.map { InstallIdentifier(rawValue: $0) }),
      let key = try? StoreKey(identifier, in: namespace),
      attributes[identity] == identityText(of: key)
    else { return nil }
    return key
  }

  private static func name(_ attribute: String?) -> String? {
    attribute.flatMap { EscapedName.unescape($0) }
  }

  /// `.some(nil)` is an absent part, `nil` an attribute that is none.
  private static func part(_ attribute: String?) -> String?? {
    guard let attribute else { return nil }
    guard !attribute.isEmpty else { return .some(nil) }
    return name(attribute).map { .some($0) }
  }

  private static func identityText(of key: StoreKey) -> String {
    Checksum.hexadecimal(of: key.canonicalBytes)
  }
}
