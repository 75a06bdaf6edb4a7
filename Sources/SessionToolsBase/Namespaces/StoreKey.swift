/// The full name of an item: its namespace and its identifier.
public struct StoreKey: Hashable, Sendable {
  /// Where the identifier is unique.
  public let namespace: Namespace
  let name: Name

  /// Names an item.
  ///
  /// - Parameters:
  ///   - identifier: The item within its namespace; 1 to 4,096 bytes of UTF-8.
  ///   - namespace: Where the identifier is unique.
  /// - Throws: `invalidName` when the identifier is empty or too long.
  public init(_ identifier: String, in namespace: Namespace) throws(StoreError) {
    self.namespace = namespace
    name = try Name(identifier, as: "item identifier")
  }

  init(name: Name, namespace: Namespace) {
    self.name = name
    self.namespace = namespace
  }

  /// The item within its namespace.
  public var identifier: String { name.text }

  /// The same item in another namespace.
  public func moved(to namespace: Namespace) -> StoreKey {
    StoreKey(name: name, namespace: namespace)
  }
}

extension StoreKey: Comparable {
  /// Orders by service, access group, install and identifier, byte for byte; an absent part
  /// comes before any present one.
  public static func < (left: StoreKey, right: StoreKey) -> Bool {
    let space = (left.namespace, right.namespace)
    // Part by part and not as arrays: sorting 100,000 keys compares two million times.
    var order = space.0.serviceName.order(beside: space.1.serviceName)
    if order == 0 { order = Self.order(space.0.groupName, beside: space.1.groupName) }
    if order == 0 { order = Self.order(space.0.installName, beside: space.1.installName) }
    if order == 0 { order = left.name.order(beside: right.name) }
    return order < 0
  }

  private static func order(_ part: Name?, beside other: Name?) -> Int {
    guard let part else { return other == nil ? 0 : -1 }
    guard let other else { return 1 }
    return part.order(beside: other)
  }
}

extension StoreKey: CustomStringConvertible {
  /// The parts for a person to read, absent ones left out.
  public var description: String {
    var text = "\(identifier) of \(namespace.service)"
    if let group = namespace.accessGroup { text += ", group \(group)" }
    if let install = namespace.install { text += ", install \(install.rawValue)" }
    return text
  }
}
