// The messages are the documentation.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import Foundation

/// What KeychainAccess has and no keychain on Linux can keep: refused when it is compiled.
extension Keychain {
  @available(*, unavailable, message: "a Linux program has no bundle identifier: name the service")
  public init() { fatalError() }

  @available(*, unavailable, message: "a Linux program has no bundle identifier: name the service")
  public init(accessGroup: String) { fatalError() }

  @available(
    *, unavailable,
    message: "an item has no authentication type: leave it out, or make it part of the key"
  )
  public init(
    server: String, protocolType: ProtocolType, accessGroup: String? = nil,
    authenticationType: AuthenticationType
  ) { fatalError() }

  @available(
    *, unavailable,
    message: "an item has no authentication type: leave it out, or make it part of the key"
  )
  public init(
    server: URL, protocolType: ProtocolType, accessGroup: String? = nil,
    authenticationType: AuthenticationType
  ) { fatalError() }

  @available(
    *, unavailable,
    message: "when a keychain can be opened is its protection: Keychain(service:protection:)"
  )
  public func accessibility(_ accessibility: Accessibility) -> Keychain { fatalError() }

  @available(
    *, unavailable,
    message: "an item has no authentication of its own: use an AuthenticationGate before the store"
  )
  public func accessibility(
    _ accessibility: Accessibility, authenticationPolicy: AuthenticationPolicy
  ) -> Keychain { fatalError() }

  @available(
    *, unavailable, message: "a keychain stays on its machine: a SealedDatabaseStore is for several"
  )
  public func synchronizable(_ synchronizable: Bool) -> Keychain { fatalError() }

  @available(
    *, unavailable, message: "no one is asked for one item: use an AuthenticationGate"
  )
  public func authenticationPrompt(_ text: String) -> Keychain { fatalError() }

  @available(*, unavailable, message: "items have no label here: leave it out")
  public func label(_ label: String) -> Keychain { fatalError() }

  @available(*, unavailable, message: "items have no comment here: leave it out")
  public func comment(_ comment: String) -> Keychain { fatalError() }

  @available(*, unavailable, message: "items have no attributes here: set a Codable value instead")
  public func attributes(_ attributes: [String: Any]) -> Keychain { fatalError() }

  @available(*, unavailable, message: "items have no attributes here: set a Codable value instead")
  public subscript(attributes key: String) -> [String: Any]? { fatalError() }

  @available(*, unavailable, message: "use try keys(), and read the items by their names")
  public func allItems() -> [[String: Any]] { fatalError() }

  @available(*, unavailable, message: "no password is synchronized here: leave the argument out")
  public func get(_ key: String, ignoringAttributeSynchronizable: Bool) throws -> String? {
    fatalError()
  }

  @available(*, unavailable, message: "no password is synchronized here: leave the argument out")
  public func set(_ value: String, key: String, ignoringAttributeSynchronizable: Bool) throws {}

  @available(*, unavailable, message: "no password is synchronized here: leave the argument out")
  public func remove(_ key: String, ignoringAttributeSynchronizable: Bool) throws {}

  @available(*, unavailable, message: "no one is asked for one item: leave the argument out")
  public func contains(_ key: String, withoutAuthenticationUI: Bool) throws -> Bool {
    fatalError()
  }

  @available(*, unavailable, message: "items have no attributes here: set a Codable value instead")
  public func get<Value>(_ key: String, handler: ([String: Any]?) -> Value) throws -> Value {
    fatalError()
  }

  @available(*, unavailable, message: "session-tools generate makes passwords")
  public static func generatePassword() -> String { fatalError() }

  /// KeychainAccess' conditions for reading an item.
  @available(*, unavailable, message: "when a keychain can be opened is its protection")
  public enum Accessibility {
    case whenUnlocked, afterFirstUnlock, always, whenPasscodeSetThisDeviceOnly
    case whenUnlockedThisDeviceOnly, afterFirstUnlockThisDeviceOnly, alwaysThisDeviceOnly
  }

  /// KeychainAccess' ways to authenticate for an item.
  @available(*, unavailable, message: "use an AuthenticationGate")
  public enum AuthenticationPolicy {
    case userPresence, biometryAny, biometryCurrentSet, touchIDAny, touchIDCurrentSet
    case devicePasscode
  }

  /// KeychainAccess' ways to authenticate at a server.
  @available(*, unavailable, message: "an item has no authentication type")
  public enum AuthenticationType {
    case ntlm, msn, dpa, rpa, httpBasic, httpDigest, htmlForm, `default`
  }
}
