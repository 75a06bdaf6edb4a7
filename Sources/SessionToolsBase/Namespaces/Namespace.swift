/// Where an item's identifier is unique: a service, and if wanted an access group and an
/// installation.
///
/// A structured value: no part is ever joined to another as text, so two namespaces are the
/// same only when every part is, byte for byte.
public struct Namespace: Hashable, Sendable {
  let serviceName: Name
  let groupName: Name?
  let installName: Name?

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
    serviceName = try Name(service, as: "service name")
    groupName =
      if let accessGroup { try Name(accessGroup, as: "access group") } else { nil }
    installName =
      if let install { try Name(install.rawValue, as: "install identifier") } else { nil }
  }

  init(service: Name, group: Name?, install: Name?) {
    serviceName = service
    groupName = group
    installName = install
  }

  /// The program or service.
  public var service: String { serviceName.text }
  /// The group of programs that share the items, if any.
  public var accessGroup: String? { groupName?.text }
  /// The installation the items belong to, if any.
  public var install: InstallIdentifier? {
    installName.map { InstallIdentifier(rawValue: $0.text) }
  }

  /// The same service and group for another installation, or for none.
  ///
  /// - Throws: `invalidName` when the identifier is empty or too long.
  public func with(install: InstallIdentifier?) throws(StoreError) -> Namespace {
    try Namespace(service: service, accessGroup: accessGroup, install: install)
  }
}

extension Namespace: ExpressibleByStringLiteral {
  /// A namespace of a service alone, written in the source.
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

extension Namespace {
  /// Where the Secret Service keeps keys of sealed stores.
  package static let storeKeys: Namespace = "org.session-tools.keys"
}
