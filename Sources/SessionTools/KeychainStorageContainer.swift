public import Foundation
import SealedStore
public import SessionToolsBase

/// Items in the platform's keychain, which on Linux is a sealed file store of the user's:
/// `$XDG_DATA_HOME/session-tools/<access group or keychain name>/`, by default below
/// `~/.local/share`.
///
/// ```swift
/// let config = KeychainContainerConfig(keychainName: "com.example.mail")
/// let container = KeychainStorageContainer<User>(config: config)
/// ```
///
/// The store is made when the first item is stored, with a key that is kept where the
/// configuration says (``KeychainProtection``): by default in the Secret Service, or in a key file
/// (`KeyFile.standard(forStore:)`) where there is none. ``protection`` says what it came to; nothing
/// changes it by itself, and a keychain whose key is not there is an error and never made anew.
///
/// A container keeps the keychain open for as long as it lives.
public struct KeychainStorageContainer<T: Codable>: StoreBackedContainer {
  private let config: KeychainContainerConfig
  /// What the items are kept in, such as for listing, adopting or purging those of other
  /// installations.
  public let store: any SecretStore

  /// Describes a container; opens and makes nothing yet.
  public init(config: KeychainContainerConfig) {
    self.config = config
    store =
      config.protection.keepsItemsInService
      ? SecretServiceStore(options: config.secretServiceOptions) : Keychain(config)
  }

  /// What protects the items at rest, in one line for a person.
  ///
  /// Opens the keychain, if there is one.
  public var protection: String { store.traits.protection }

  /// The keychain's items as those of a store; opens nothing.
  ///
  /// - Throws: `invalidName`.
  public func storeContainer() throws(StoreError) -> StoreContainer<T> {
    StoreContainer(store, namespace: try config.namespace())
  }

  /// Whether there is an item; `false` also when the keychain cannot tell, which
  /// `containsItem(forIdentifier:)` says.
  public func hasItem(forIdentifier identifier: String) -> Bool {
    // The old method has no way to say more.
    (try? containsItem(forIdentifier: identifier)) ?? false
  }

  /// Whether there is an item.
  ///
  /// - Throws: `unavailable`, `keyMissing`, `wrongKey`, `corrupt`, `unsafePermissions`,
  ///   `invalidName`, `accessDenied` or `io`.
  public func containsItem(forIdentifier identifier: String) throws -> Bool {
    try storeContainer().containsItem(forIdentifier: identifier)
  }

  /// Reads an item; `nil` when there is none, and for no other reason.
  ///
  /// - Throws: As `containsItem(forIdentifier:)`, and `undecodable`.
  public func item(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> T? {
    try storeContainer().item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Reads an item: the same as ``item(forIdentifier:jsonDecoder:)``.
  ///
  /// - Throws: As ``item(forIdentifier:jsonDecoder:)``.
  public func loadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> T? {
    try storeContainer().loadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Stores an item in the place of an older one, if there is one; makes the keychain if there
  /// is none.
  ///
  /// - Throws: As `containsItem(forIdentifier:)`, and `unencodable`, `valueTooLarge`,
  ///   `noSpace`, `timedOut` or `outcomeUnknown`.
  public func storeItem(
    _ item: T, forIdentifier identifier: String, jsonEncoder: JSONEncoder = JSONEncoder()
  ) throws {
    try storeContainer().storeItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Removes an item; no error when there is none.
  ///
  /// - Throws: As ``storeItem(_:forIdentifier:jsonEncoder:)``.
  public func removeItem(forIdentifier identifier: String) throws {
    try storeContainer().removeItem(forIdentifier: identifier)
  }

  /// An element each time the item may have changed, from now on, whoever changed it.
  ///
  /// Before there is a keychain, changes of other processes are told only after this container
  /// has found or made it.
  public func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    guard let items = try? storeContainer() else {
      // A name that no item can have never changes.
      return AsyncStream { $0.finish() }
    }
    return items.itemChanges(forIdentifier: identifier)
  }
}

extension KeychainStorageContainer: Equatable {
  /// Whether both are configured for the same items in the same keychain.
  public static func == (
    left: KeychainStorageContainer<T>, right: KeychainStorageContainer<T>
  ) -> Bool {
    left.config == right.config
  }
}
