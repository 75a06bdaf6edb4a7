public import SecretStores
public import Foundation

/// A container whose items are in a `SecretStore`, each under a name of its own.
///
/// Write ``storeContainer()``; everything else has defaults, which use the store's own blocking and
/// `async` operations. Sessions of such a container are refreshed once among all processes, and a
/// refresh that was killed is noticed by the next. They read and change the item in the store: a
/// container that does more when an item is stored puts a store of its own in front of it.
public protocol StoreBackedContainer<Item>: ObservableSessionContainer where Item: Codable {
  /// Returns the store, the namespace and the coding, the same each time; opens nothing.
  ///
  /// - Throws: `invalidName` if the items cannot have names.
  func storeContainer() throws(StoreError) -> StoreContainer<Item>
}

extension StoreBackedContainer {
  /// Returns whether there is an item; `false` also when the store cannot tell, which
  /// `containsItem(forIdentifier:)` reports as an error.
  public func hasItem(forIdentifier identifier: String) -> Bool {
    // The old method cannot report more.
    (try? containsItem(forIdentifier: identifier)) ?? false
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: As `SecretStore.contains(_:)`; `invalidName`.
  public func containsItem(forIdentifier identifier: String) throws -> Bool {
    try storeContainer().containsItem(forIdentifier: identifier)
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: As `SecretStore.contains(_:)`; `invalidName`.
  public func asyncContainsItem(forIdentifier identifier: String) async throws -> Bool {
    try await storeContainer().asyncContainsItem(forIdentifier: identifier)
  }

  /// Reads an item; `nil` only when the item is absent.
  ///
  /// - Throws: As `SecretStore.value(for:)`; `undecodable`, `invalidName`.
  public func item(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> Item? {
    try storeContainer().item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Reads an item; `nil` only when the item is absent.
  ///
  /// - Throws: As `SecretStore.value(for:)`; `undecodable`, `invalidName`.
  public func loadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> Item? {
    try storeContainer().loadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Reads an item; `nil` only when the item is absent.
  ///
  /// - Throws: As `SecretStore.value(for:)`; `undecodable`, `invalidName`.
  public func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) async throws -> sending Item? {
    try await storeContainer().asyncLoadItem(
      forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Stores an item, replacing an older one if there is one.
  ///
  /// - Throws: As `SecretStore.apply(_:)`; `unencodable`, `invalidName`.
  public func storeItem(
    _ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder = JSONEncoder()
  ) throws {
    try storeContainer().storeItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Stores an item, replacing an older one if there is one.
  ///
  /// - Throws: As `SecretStore.apply(_:)`; `unencodable`, `invalidName`.
  public func asyncStoreItem(
    _ item: sending Item, forIdentifier identifier: String,
    jsonEncoder: JSONEncoder = JSONEncoder()
  ) async throws {
    try await storeContainer().asyncStoreItem(
      item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Removes an item; an absent item is not an error.
  ///
  /// - Throws: As `SecretStore.apply(_:)`; `invalidName`.
  public func removeItem(forIdentifier identifier: String) throws {
    try storeContainer().removeItem(forIdentifier: identifier)
  }

  /// Removes an item; an absent item is not an error.
  ///
  /// - Throws: As `SecretStore.apply(_:)`; `invalidName`.
  public func asyncRemoveItem(forIdentifier identifier: String) async throws {
    try await storeContainer().asyncRemoveItem(forIdentifier: identifier)
  }

  /// Returns a stream with an element each time the item may have changed, from now on, in any
  /// process that the store sees.
  ///
  /// It ends with the store's own stream.
  public func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    guard let container = try? storeContainer() else {
      // An item with an invalid name cannot exist and never changes.
      return AsyncStream { $0.finish() }
    }
    return container.itemChanges(forIdentifier: identifier)
  }
}
