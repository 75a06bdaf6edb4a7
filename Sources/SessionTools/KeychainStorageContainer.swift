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
/// The store is made when the first item is stored, with a key file of mode 0600 beside the
/// keychains (`KeyFile.standard(forStore:)`). That protects a copy of the data
/// directory without its `keys`, and nothing from whoever has the user's whole home; use a
/// `StoreContainer` on a store with a passphrase for more.
public struct KeychainStorageContainer<T: Codable>: ObservableSessionContainer {
  private let config: KeychainContainerConfig
  private let keychain: Keychain

  /// Describes a container; opens and makes nothing yet.
  public init(config: KeychainContainerConfig) {
    self.config = config
    keychain = Keychain(config.accessGroupName ?? config.serviceName)
  }

  /// What protects the items at rest, in one line for a person.
  public var protection: String { keychain.traits.protection }

  private func items() throws(StoreError) -> StoreContainer<T> {
    StoreContainer(keychain, namespace: try config.namespace())
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
    try items().containsItem(forIdentifier: identifier)
  }

  /// Reads an item; `nil` when there is none, and for no other reason.
  ///
  /// - Throws: As `containsItem(forIdentifier:)`, and `undecodable`.
  public func item(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> T? {
    try items().item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Reads an item: the same as ``item(forIdentifier:jsonDecoder:)``.
  ///
  /// - Throws: As ``item(forIdentifier:jsonDecoder:)``.
  public func loadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> T? {
    try items().loadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Stores an item in the place of an older one, if there is one; makes the keychain if there
  /// is none.
  ///
  /// - Throws: As `containsItem(forIdentifier:)`, and `unencodable`, `valueTooLarge`,
  ///   `noSpace`, `timedOut` or `outcomeUnknown`.
  public func storeItem(
    _ item: T, forIdentifier identifier: String, jsonEncoder: JSONEncoder = JSONEncoder()
  ) throws {
    try items().storeItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Removes an item; no error when there is none.
  ///
  /// - Throws: As ``storeItem(_:forIdentifier:jsonEncoder:)``.
  public func removeItem(forIdentifier identifier: String) throws {
    try items().removeItem(forIdentifier: identifier)
  }

  /// An element each time the item may have changed, from now on, whoever changed it.
  ///
  /// Before there is a keychain, changes of other processes are told only after this container
  /// has found or made it.
  public func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    guard let items = try? items() else {
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
