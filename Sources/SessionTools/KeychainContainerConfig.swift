public import SecretServiceStore
public import SessionToolsBase

/// The keychain that a container uses, and the lifecycle of its items.
///
/// Two configurations are equal if they name the same items in the same keychain, regardless of how
/// the keychain is opened.
public struct KeychainContainerConfig: Sendable {
  /// The keychain's name as the caller gave it: the service the items belong to.
  public let serviceName: String
  /// The group of programs that share the keychain, if any.
  public let accessGroupName: String?
  /// How long the items are meant to last.
  public let keychainLifecycle: KeychainLifecycle
  /// The protection of the items at rest.
  public let protection: KeychainProtection
  /// The options for the Secret Service, if the protection uses it: whether a person may be asked
  /// to unlock it, and how long to wait.
  ///
  /// In a sandbox they say how long to wait for the desktop's portal, which asks a person whenever
  /// the keyring is locked.
  public var secretServiceOptions = SecretServiceStore.Options()

  /// Describes a keychain.
  ///
  /// - Parameters:
  ///   - keychainName: The service the items belong to, such as `com.example.mail`.
  ///   - accessGroupName: The group of programs that share the keychain.
  ///   - lifecycle: How long the items are meant to last.
  ///   - protection: The protection of a keychain that is made with this configuration.
  public init(
    keychainName: String, accessGroupName: String? = nil,
    lifecycle: KeychainLifecycle = .unmanaged, protection: KeychainProtection = .automatic
  ) {
    serviceName = keychainName
    self.accessGroupName = accessGroupName
    keychainLifecycle = lifecycle
    self.protection = protection
  }

  /// The install identifier followed by the name, as in iOS-SessionTools.
  ///
  /// For display and for old code only: items are kept under the two parts, which are never joined.
  public var keychainName: String {
    switch keychainLifecycle {
    case .unmanaged: serviceName
    case .currentInstall(let identifier): identifier + serviceName
    }
  }

  /// The name of the keychain, which identifies it among the user's keychains.
  var groupName: String { accessGroupName ?? serviceName }

  /// Returns the namespace of the items in the keychain.
  ///
  /// - Throws: `invalidName` when a name is empty or longer than 4,096 bytes.
  func namespace() throws(StoreError) -> StoreNamespace {
    let install: InstallIdentifier? =
      switch keychainLifecycle {
      case .unmanaged: nil
      case .currentInstall(let identifier): InstallIdentifier(rawValue: identifier)
      }
    return try StoreNamespace(
      service: serviceName, accessGroup: accessGroupName, install: install)
  }
}

extension KeychainContainerConfig: Equatable {
  /// Returns whether both name the same items in the same keychain.
  public static func == (left: KeychainContainerConfig, right: KeychainContainerConfig) -> Bool {
    left.serviceName == right.serviceName && left.accessGroupName == right.accessGroupName
      && left.keychainLifecycle == right.keychainLifecycle
      && left.protection.keepsItemsInService == right.protection.keepsItemsInService
  }
}
