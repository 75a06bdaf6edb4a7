import SecretServiceStore
public import SessionToolsBase

/// The protection of a keychain's items at rest.
///
/// Every choice but ``secretServiceItems`` determines where the key of a sealed file store is kept.
/// It takes effect once, when the keychain is made: an existing keychain is opened as its own key
/// slots say. `session-tools slots` changes the slots.
public struct KeychainProtection: Sendable {
  enum Choice: Sendable {
    case automatic, secretService, keyFile, secretServiceItems
    case passphrase(@Sendable () throws -> SecretBytes)
  }

  let choice: Choice

  /// A key in the Secret Service if it is available when the keychain is made, else a key file.
  ///
  /// The service is unavailable if there is no session bus, no provider on the bus, or no default
  /// collection. A service that is locked or does not answer counts as available: storing then
  /// fails, and no keychain is made.
  ///
  /// In a Flatpak or a Snap without permission to use the service, the key comes from the desktop's
  /// portal, which needs none (``PortalKey``). A key file is then made only if there is no portal
  /// for secrets; if the portal gives none, storing fails, and no keychain is made.
  public static let automatic = KeychainProtection(choice: .automatic)

  /// A key in the Secret Service, or, in a Flatpak or a Snap without permission to use the service,
  /// from the desktop's portal, which keeps it in the keyring as well (``PortalKey``).
  ///
  /// It protects the items from someone who has the disk, as well as the keyring's password does.
  public static let secretService = KeychainProtection(choice: .secretService)

  /// A key file of mode 0600 in the same data directory.
  ///
  /// It protects a copy of the store that does not include the key, and nothing from someone who
  /// has the user's entire home directory.
  public static let keyFile = KeychainProtection(choice: .keyFile)

  /// No sealed store: each item is kept as an item of the Secret Service.
  ///
  /// Use it for a few small items that a person should see in the desktop's password manager.
  public static let secretServiceItems = KeychainProtection(choice: .secretServiceItems)

  /// Returns a protection by a passphrase, without which the items cannot be read.
  ///
  /// - Parameter provider: Returns the passphrase as UTF-8. It is called when the keychain is
  ///   made or opened, on the thread that needs the item, and may ask a person. If it throws a
  ///   `StoreError`, the caller receives that error; any other error becomes `promptDismissed`.
  /// - Returns: The protection.
  public static func passphrase(
    _ provider: @escaping @Sendable () throws -> SecretBytes
  ) -> KeychainProtection {
    KeychainProtection(choice: .passphrase(provider))
  }

  /// Whether items are kept in the Secret Service itself instead of in a sealed store.
  var keepsItemsInService: Bool {
    if case .secretServiceItems = choice { true } else { false }
  }

  /// A description, for a person, of how a keychain that does not exist yet will be opened.
  var intention: String {
    switch choice {
    case .automatic:
      "opened with a key in \(keyring), or with a key file if that is unavailable"
    case .secretService: "opened with a key in \(keyring)"
    case .keyFile: "opened with a key file"
    case .passphrase: "opened with a passphrase"
    case .secretServiceItems: "kept by the Secret Service"
    }
  }

  private var keyring: String {
    Sandbox.current == nil
      ? "the Secret Service" : "the Secret Service or from the desktop's portal"
  }
}
