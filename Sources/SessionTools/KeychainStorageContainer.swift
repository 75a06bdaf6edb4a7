public import Foundation
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
/// (`KeyFile.standard(forStore:)`) if the service is unavailable. ``protection`` describes the
/// result. It never changes by itself; if the key of a keychain is missing, that is an error, and
/// the keychain is never replaced by a new one.
///
/// A container keeps the keychain open as long as it lives.
public struct KeychainStorageContainer<T: Codable>: StoreBackedContainer {
  private let config: KeychainContainerConfig
  /// The store that contains the items, for example to list, adopt or purge those of other
  /// installations.
  public let store: any SecretStore

  /// Describes a container; opens and makes nothing yet.
  public init(config: KeychainContainerConfig) {
    self.config = config
    store =
      config.protection.keepsItemsInService
      ? SecretServiceStore(options: config.secretServiceOptions) : Keychain(config)
  }

  /// A one-line description, for a person, of what protects the items at rest.
  ///
  /// Opens the keychain, if there is one.
  public var protection: String { store.traits.protection }

  /// Returns a container of the same items that uses the store directly; opens nothing.
  ///
  /// - Throws: `invalidName`.
  public func storeContainer() throws(StoreError) -> StoreContainer<T> {
    StoreContainer(store, namespace: try config.namespace())
  }

  /// Returns whether there is an item; also `false` if the keychain cannot be read.
  ///
  /// `containsItem(forIdentifier:)` throws in the latter case.
  public func hasItem(forIdentifier identifier: String) -> Bool {
    // This method of iOS-SessionTools cannot throw.
    (try? containsItem(forIdentifier: identifier)) ?? false
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: `unavailable`, `keyMissing`, `wrongKey`, `corrupt`, `unsafePermissions`,
  ///   `invalidName`, `accessDenied` or `io`.
  public func containsItem(forIdentifier identifier: String) throws -> Bool {
    try storeContainer().containsItem(forIdentifier: identifier)
  }

  /// Reads an item; returns `nil` if it is absent, and for no other reason.
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

  /// Stores an item, replacing an older one; makes the keychain if it does not exist.
  ///
  /// - Throws: As `containsItem(forIdentifier:)`, and `unencodable`, `valueTooLarge`,
  ///   `noSpace`, `timedOut` or `outcomeUnknown`.
  public func storeItem(
    _ item: T, forIdentifier identifier: String, jsonEncoder: JSONEncoder = JSONEncoder()
  ) throws {
    try storeContainer().storeItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Removes an item; does not throw if it is absent.
  ///
  /// - Throws: As ``storeItem(_:forIdentifier:jsonEncoder:)``.
  public func removeItem(forIdentifier identifier: String) throws {
    try storeContainer().removeItem(forIdentifier: identifier)
  }

  /// Returns a stream with an element each time the item may have changed from now on.
  ///
  /// It includes changes by other objects and processes. While there is no keychain, changes by
  /// other processes are reported only after this container has found or made it.
  public func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    guard let items = try? storeContainer() else {
      // No item can have such a name, so none ever changes.
      return AsyncStream { $0.finish() }
    }
    return items.itemChanges(forIdentifier: identifier)
  }
}

extension KeychainStorageContainer: Equatable {
  /// Returns whether both are configured for the same items in the same keychain.
  public static func == (
    left: KeychainStorageContainer<T>, right: KeychainStorageContainer<T>
  ) -> Bool {
    left.config == right.config
  }
}
