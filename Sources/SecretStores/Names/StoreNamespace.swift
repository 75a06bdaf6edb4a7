/// The scope in which an item's identifier is unique: a service, and optionally an access group and
/// an installation.
///
/// The parts are kept separate and never joined as text, so two namespaces are equal only when
/// every part is, byte for byte.
public struct StoreNamespace: Hashable, Sendable {
  /// A single reference, because names are copied for every read.
  private let parts: Parts

  private final class Parts: Sendable {
    let service: Name
    let group: Name?
    let install: Name?
    let canonicalBytes: [UInt8]

    init(_ service: Name, _ group: Name?, _ install: Name?) {
      self.service = service
      self.group = group
      self.install = install
      canonicalBytes =
        [service, group, install].flatMap { Name.canonicalBytes(of: $0) }
    }
  }

  /// Makes a namespace.
  ///
  /// - Parameters:
  ///   - service: The program or service, such as `com.example.mail`; 1 to 4,096 bytes of UTF-8.
  ///   - accessGroup: A group of programs that share items; the same range.
  ///   - install: The installation the items belong to.
  /// - Throws: `invalidName` when a part is empty or too long.
  public init(
    service: String, accessGroup: String? = nil, install: InstallIdentifier? = nil
  ) throws(StoreError) {
    self.init(
      service: try Name(service, as: "service name"),
      group: try Name(accessGroup, as: "access group"),
      install: try Name(install?.rawValue, as: "install identifier"))
  }

  init(service: Name, group: Name?, install: Name?) {
    parts = Parts(service, group, install)
  }

  var serviceName: Name { parts.service }
  var groupName: Name? { parts.group }
  var installName: Name? { parts.install }
  /// The beginning of the canonical encoding of every name in the namespace.
  package var canonicalBytes: [UInt8] { parts.canonicalBytes }

  /// Returns whether every part is the same, byte for byte.
  public static func == (left: StoreNamespace, right: StoreNamespace) -> Bool {
    left.parts === right.parts || left.canonicalBytes == right.canonicalBytes
  }

  /// Compares the parts: below zero when this namespace comes before the other, zero when they are
  /// equal, above zero when it comes after it.
  func order(beside other: StoreNamespace) -> Int {
    // Most sorted names have the same namespace.
    if isSameObject(as: other) { return 0 }
    var order = serviceName.order(beside: other.serviceName)
    if order == 0 { order = Self.order(groupName, beside: other.groupName) }
    if order == 0 { order = Self.order(installName, beside: other.installName) }
    return order
  }

  /// Whether the other namespace is a copy of this one, so that nothing has to be compared.
  func isSameObject(as other: StoreNamespace) -> Bool { parts === other.parts }

  private static func order(_ part: Name?, beside other: Name?) -> Int {
    guard let part else { return other == nil ? 0 : -1 }
    guard let other else { return 1 }
    return part.order(beside: other)
  }

  /// Hashes the bytes of all parts.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(canonicalBytes)
  }

  /// The program or service.
  public var service: String { serviceName.text }
  /// The group of programs that share the items, if any.
  public var accessGroup: String? { groupName?.text }
  /// The installation the items belong to, if any.
  public var install: InstallIdentifier? {
    installName.map { InstallIdentifier(rawValue: $0.text) }
  }

  /// Returns the namespace of the same service and group for another installation, or for none.
  ///
  /// - Throws: `invalidName` when the identifier is empty or too long.
  public func with(install: InstallIdentifier?) throws(StoreError) -> StoreNamespace {
    try StoreNamespace(service: service, accessGroup: accessGroup, install: install)
  }
}

extension StoreNamespace: ExpressibleByStringLiteral {
  /// Makes a namespace of a service alone, from a literal in source code.
  ///
  /// - Precondition: The literal has 1 to 4,096 bytes of UTF-8.
  public init(stringLiteral service: String) {
    do {
      try self.init(service: service)
    } catch {
      preconditionFailure("\(error)")
    }
  }
}

extension StoreNamespace {
  /// The namespace in which the Secret Service keeps keys of sealed stores.
  package static let storeKeys: StoreNamespace = "org.session-tools.keys"
}
