public import SessionToolsBase

/// What is to protect a keychain's items at rest.
///
/// All but ``secretServiceItems`` say where the key of a sealed file store is kept. That is decided
/// once, when the keychain is made, and stands in the store from then on: a keychain that is
/// there is opened by what its own key slots say. `session-tools slots` changes them.
public struct KeychainProtection: Sendable {
  enum Choice: Sendable {
    case automatic, secretService, keyFile, secretServiceItems
    case passphrase(@Sendable () throws -> SecretBytes)
  }

  let choice: Choice

  /// A key in the Secret Service if one is there when the keychain is made, else a key file.
  ///
  /// There is none when there is no session bus, no provider on it, or no default collection. One
  /// that is locked, or does not answer, is there: then storing fails, and nothing is decided.
  public static let automatic = KeychainProtection(choice: .automatic)

  /// A key in the Secret Service: protects the items from whoever has the disk, as well as the
  /// keyring's password does.
  public static let secretService = KeychainProtection(choice: .secretService)

  /// A key file of mode 0600 in the same data directory: protects a copy of the store without
  /// the key, and nothing from whoever has the user's whole home.
  public static let keyFile = KeychainProtection(choice: .keyFile)

  /// No sealed store: each item is one of the Secret Service's.
  ///
  /// For few and small items that a person should see in the desktop's password program.
  public static let secretServiceItems = KeychainProtection(choice: .secretServiceItems)

  /// A passphrase: protects the items from whoever does not know it.
  ///
  /// - Parameter provider: Gives the passphrase as UTF-8. It is called when the keychain is
  ///   made or opened, on the thread that needs the item, and may ask a person. What it throws
  ///   reaches the caller when it is a `StoreError`, and as `promptDismissed` otherwise.
  /// - Returns: The protection.
  public static func passphrase(
    _ provider: @escaping @Sendable () throws -> SecretBytes
  ) -> KeychainProtection {
    KeychainProtection(choice: .passphrase(provider))
  }

  /// Whether items are kept in the Secret Service itself: another place than the sealed store.
  var keepsItemsInService: Bool {
    if case .secretServiceItems = choice { true } else { false }
  }

  /// What will protect a keychain that is yet to be made, for a person.
  var intention: String {
    switch choice {
    case .automatic: "open with a key in the Secret Service, or with a key file if there is none"
    case .secretService: "open with a key in the Secret Service"
    case .keyFile: "open with a key file"
    case .passphrase: "open with a passphrase"
    case .secretServiceItems: "kept by the Secret Service"
    }
  }
}
