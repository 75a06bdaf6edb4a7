import Foundation
import SealedStore
public import SessionToolsBase

/// Items in the platform's keychain, which on Linux is a sealed file store of the user.
///
/// The store is `$XDG_DATA_HOME/session-tools/<access group or keychain name>/`, by default below
/// `~/.local/share`.
///
/// ```swift
/// let config = KeychainContainerConfig(keychainName: "com.example.mail")
/// let container = KeychainStorageContainer<User>(config: config)
/// ```
///
/// The store is made when the first item is stored. Its key is kept where the configuration says
/// (``KeychainProtection``): by default in the Secret Service, or in a key file
/// (`KeyFile.standard(forStore:)`) if the service is unavailable; in a Flatpak or a Snap without
/// permission to use the service it comes from the desktop's portal. ``protection()`` describes the
/// result. It never changes by itself; if the key of a keychain is missing, that is an error, and
/// the keychain is never replaced by a new one.
///
/// A container keeps the keychain open as long as it lives. The first use opens it, and blocks as
/// long as the service (25 s by default), the portal or the closure that asks for a passphrase
/// takes. Until the keychain exists, changes by other processes are reported only after this
/// container has found or made it.
///
/// Root makes no keychain in another user's directory, which could lock that user out: storing
/// throws `unsafePermissions`. Where root has the `HOME` of another user, as in `container:` jobs
/// of GitHub Actions, set `HOME` or `XDG_DATA_HOME` to a directory of root's own.
///
/// Reading throws `locked`, `promptDismissed`, `timedOut`, `unavailable`, `keyMissing`, `wrongKey`,
/// `corrupt`, `unsupportedVersion`, `unsafePermissions`, `invalidName`, `accessDenied`,
/// `undecodable` or `io`; storing also `unencodable`, `valueTooLarge`, `noSpace` or
/// `outcomeUnknown`.
public struct KeychainStorageContainer<T: Codable>: StoreBackedContainer {
  /// The type of the items.
  public typealias Item = T

  private let keychain: Keychain

  /// Describes a container; opens and makes nothing yet.
  public init(config: KeychainContainerConfig) {
    self.init(Keychain(config))
  }

  /// Describes a container of items in a keychain, which is then opened once for both.
  public init(_ keychain: Keychain) {
    self.keychain = keychain
  }

  /// The store that contains the items, for example to list, adopt or purge those of other
  /// installations.
  public var store: any SecretStore { keychain.store }

  /// Returns what protects the items at rest; opens the keychain, if there is one.
  ///
  /// - Throws: As reading an item.
  public func protection() throws(StoreError) -> StoreProtection { try store.protection() }

  /// Returns a container of the same items that uses the store directly; opens nothing.
  ///
  /// - Throws: `invalidName`.
  public func storeContainer() throws(StoreError) -> StoreContainer<T> {
    StoreContainer(store, namespace: try keychain.namespace())
  }
}

extension KeychainStorageContainer: Equatable {
  /// Returns whether both are configured for the same items in the same keychain.
  public static func == (
    left: KeychainStorageContainer<T>, right: KeychainStorageContainer<T>
  ) -> Bool {
    left.keychain.config == right.keychain.config
  }
}
