public import SessionToolsBase

/// Which keychain a container uses, and for how long its items are meant.
///
/// Two configurations are equal when they name the same items in the same keychain.
public struct KeychainContainerConfig: Equatable, Sendable {
  /// The keychain's name as the caller gave it: the service the items belong to.
  public let serviceName: String
  /// The group of programs that share the keychain, if any.
  public let accessGroupName: String?
  /// For how long the items are meant.
  public let keychainLifeCycle: KeychainLifecycle

  /// Describes a keychain.
  ///
  /// - Parameters:
  ///   - keychainName: The service the items belong to, such as `com.example.mail`.
  ///   - accessGroupName: The group of programs that share the keychain.
  ///   - lifecycle: For how long the items are meant.
  public init(
    keychainName: String, accessGroupName: String? = nil,
    lifecycle: KeychainLifecycle = .unmanaged
  ) {
    serviceName = keychainName
    self.accessGroupName = accessGroupName
    keychainLifeCycle = lifecycle
  }

  /// The install identifier and the name behind one another, as iOS-SessionTools spells it.
  ///
  /// For people and for old code only: items are kept under the parts, which never run together.
  public var keychainName: String {
    switch keychainLifeCycle {
    case .unmanaged: serviceName
    case .currentInstall(let identifier): identifier + serviceName
    }
  }

  /// Where the items are, in the keychain.
  ///
  /// - Throws: `invalidName` when a name is empty or longer than 4,096 bytes.
  func namespace() throws(StoreError) -> Namespace {
    let install: InstallIdentifier? =
      switch keychainLifeCycle {
      case .unmanaged: nil
      case .currentInstall(let identifier): InstallIdentifier(rawValue: identifier)
      }
    return try Namespace(
      service: serviceName, accessGroup: accessGroupName, install: install)
  }
}
