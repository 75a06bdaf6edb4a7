public import SecretServiceStore
public import SessionToolsBase

/// Which keychain a container uses, and for how long its items are meant.
///
/// Two configurations are equal when they name the same items in the same keychain, however that
/// is opened.
public struct KeychainContainerConfig: Sendable {
  /// The keychain's name as the caller gave it: the service the items belong to.
  public let serviceName: String
  /// The group of programs that share the keychain, if any.
  public let accessGroupName: String?
  /// For how long the items are meant.
  public let keychainLifecycle: KeychainLifecycle
  /// What is to protect the items at rest.
  public let protection: KeychainProtection
  /// How the Secret Service is used, where the protection needs it: whether a person may be asked
  /// to unlock it, and how long to wait.
  public var secretServiceOptions = SecretServiceOptions()

  /// Describes a keychain.
  ///
  /// - Parameters:
  ///   - keychainName: The service the items belong to, such as `com.example.mail`.
  ///   - accessGroupName: The group of programs that share the keychain.
  ///   - lifecycle: For how long the items are meant.
  ///   - protection: What is to protect a keychain that is made with this configuration.
  public init(
    keychainName: String, accessGroupName: String? = nil,
    lifecycle: KeychainLifecycle = .unmanaged, protection: KeychainProtection = .automatic
  ) {
    serviceName = keychainName
    self.accessGroupName = accessGroupName
    keychainLifecycle = lifecycle
    self.protection = protection
  }

  /// The install identifier and the name behind one another, as iOS-SessionTools spells it.
  ///
  /// For people and for old code only: items are kept under the parts, which never run together.
  public var keychainName: String {
    switch keychainLifecycle {
    case .unmanaged: serviceName
    case .currentInstall(let identifier): identifier + serviceName
    }
  }

  /// The lifecycle, in the spelling of earlier versions of this package.
  @available(*, deprecated, renamed: "keychainLifecycle")
  public var keychainLifeCycle: KeychainLifecycle { keychainLifecycle }

  /// The name of the keychain that the items are in, among the user's.
  var groupName: String { accessGroupName ?? serviceName }

  /// Where the items are, in the keychain.
  ///
  /// - Throws: `invalidName` when a name is empty or longer than 4,096 bytes.
  func namespace() throws(StoreError) -> Namespace {
    let install: InstallIdentifier? =
      switch keychainLifecycle {
      case .unmanaged: nil
      case .currentInstall(let identifier): InstallIdentifier(rawValue: identifier)
      }
    return try Namespace(
      service: serviceName, accessGroup: accessGroupName, install: install)
  }
}

extension KeychainContainerConfig: Equatable {
  /// Whether both name the same items in the same keychain.
  public static func == (left: KeychainContainerConfig, right: KeychainContainerConfig) -> Bool {
    left.serviceName == right.serviceName && left.accessGroupName == right.accessGroupName
      && left.keychainLifecycle == right.keychainLifecycle
      && left.protection.keepsItemsInService == right.protection.keepsItemsInService
  }
}
