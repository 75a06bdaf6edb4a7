public import SecretStores
public import Foundation

/// Items of one type in any `SecretStore`: the adapter between bytes and a session.
///
/// ```swift
/// let container = try StoreContainer<User>(store, service: "com.example.mail")
/// let session = UserSession(
///   container: container, storageIdentifier: "user", notificationPoster: nil)
/// ```
///
/// It is as durable, as atomic and as secret as its store.
///
/// All containers of a namespace share its identifiers, whatever the types of their items. An item
/// that no longer decodes throws `undecodable`, is `unavailable` as a session's state, and stays:
/// give new properties of a model a default, or make them optional.
public struct StoreContainer<Item: Codable>: StoreBackedContainer {
  /// The store that keeps the bytes.
  public let store: any SecretStore
  /// The namespace in which the identifiers are unique.
  public let namespace: StoreNamespace
  /// The account that owns the items; `nil` where users are not distinguished.
  public let account: AccountIdentifier?
  /// How an item becomes bytes, and back.
  public let coding: ItemCoding<Item>

  /// Makes a container of one namespace of a store, or of one account's items in it.
  public init(
    _ store: some SecretStore, namespace: StoreNamespace, account: AccountIdentifier? = nil,
    coding: ItemCoding<Item> = .json
  ) {
    self.store = store
    self.namespace = namespace
    self.account = account
    self.coding = coding
  }

  /// Returns a container of one account's items: no other container returns them, whatever their
  /// identifiers are.
  public func items(of account: AccountIdentifier) -> StoreContainer {
    StoreContainer(store, namespace: namespace, account: account, coding: coding)
  }

  /// Returns a container of the same items through another store.
  func over(_ wrap: (any SecretStore) -> any SecretStore) -> StoreContainer {
    StoreContainer(wrap(store), namespace: namespace, account: account, coding: coding)
  }

  /// Makes a container of a service's items.
  ///
  /// - Parameters:
  ///   - store: The store that keeps the bytes.
  ///   - service: The program or service, such as `com.example.mail`; 1 to 4,096 bytes.
  ///   - accessGroup: A group of programs that share the items.
  ///   - install: The installation the items belong to.
  ///   - coding: How an item becomes bytes.
  /// - Throws: `invalidName` when a name is empty or too long.
  public init(
    _ store: some SecretStore, service: String, accessGroup: String? = nil,
    install: InstallIdentifier? = nil, coding: ItemCoding<Item> = .json
  ) throws(StoreError) {
    self.init(
      store,
      namespace: try StoreNamespace(service: service, accessGroup: accessGroup, install: install),
      coding: coding)
  }

  func name(_ identifier: String) throws(StoreError) -> ItemName {
    guard let account else { return try ItemName(identifier, in: namespace) }
    return try AccountItemName.item(identifier, of: account, in: namespace)
  }

  /// Returns the container itself.
  public func storeContainer() -> StoreContainer<Item> { self }
}

// MARK: - Blocking

extension StoreContainer {
  /// Returns whether there is an item; `false` also when the store cannot tell, which
  /// `containsItem(forIdentifier:)` reports as an error.
  public func hasItem(forIdentifier identifier: String) -> Bool {
    // The old method cannot report more.
    (try? containsItem(forIdentifier: identifier)) ?? false
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: As `SecretStore.contains(_:)`; `invalidName`.
  public func containsItem(forIdentifier identifier: String) throws(StoreError) -> Bool {
    try store.contains(try name(identifier))
  }

  /// Reads an item; `nil` only when the item is absent.
  ///
  /// - Throws: As `SecretStore.value(for:)`; `undecodable`, `invalidName`.
  public func item(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws(StoreError) -> Item? {
    let name = try name(identifier)
    guard let bytes = try store.value(for: name) else { return nil }
    return try coding.item(from: bytes, for: name, decoder: jsonDecoder)
  }

  /// Reads an item: the same as ``item(forIdentifier:jsonDecoder:)``.
  ///
  /// - Throws: As ``item(forIdentifier:jsonDecoder:)``.
  public func loadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws(StoreError) -> Item? {
    try item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Stores an item, replacing an older one if there is one.
  ///
  /// - Throws: As `SecretStore.apply(_:)`; `unencodable`, `invalidName`.
  public func storeItem(
    _ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder = JSONEncoder()
  ) throws(StoreError) {
    let name = try name(identifier)
    try store.put(try coding.bytes(of: item, for: name, encoder: jsonEncoder), for: name)
  }

  /// Removes an item; an absent item is not an error.
  ///
  /// - Throws: As `SecretStore.apply(_:)`; `invalidName`.
  public func removeItem(forIdentifier identifier: String) throws(StoreError) {
    try store.remove(try name(identifier))
  }
}

// MARK: - Async

extension StoreContainer {
  /// Returns whether there is an item.
  ///
  /// - Throws: As `SecretStore.contains(_:)`; `invalidName`.
  public func asyncContainsItem(forIdentifier identifier: String) async throws(StoreError) -> Bool {
    try await store.contains(try name(identifier))
  }

  /// Reads an item; `nil` only when the item is absent.
  ///
  /// - Throws: As `SecretStore.value(for:)`; `undecodable`, `invalidName`.
  public func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) async throws(StoreError) -> sending Item? {
    let name = try name(identifier)
    guard let bytes = try await store.value(for: name) else { return nil }
    return try coding.item(from: bytes, for: name, decoder: jsonDecoder)
  }

  /// Stores an item, replacing an older one if there is one.
  ///
  /// - Throws: As `SecretStore.apply(_:)`; `unencodable`, `invalidName`.
  public func asyncStoreItem(
    _ item: sending Item, forIdentifier identifier: String,
    jsonEncoder: JSONEncoder = JSONEncoder()
  ) async throws(StoreError) {
    let name = try name(identifier)
    try await store.put(try coding.bytes(of: item, for: name, encoder: jsonEncoder), for: name)
  }

  /// Removes an item; an absent item is not an error.
  ///
  /// - Throws: As `SecretStore.apply(_:)`; `invalidName`.
  public func asyncRemoveItem(forIdentifier identifier: String) async throws(StoreError) {
    try await store.remove(try name(identifier))
  }

  /// Returns a stream with an element each time the item may have changed, from now on, in any
  /// process that the store sees.
  ///
  /// It ends with the store's own stream.
  public func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    // One unread change stands for any number of them.
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    // An item with an invalid name cannot exist and never changes.
    guard let name = try? name(identifier) else {
      continuation.finish()
      return stream
    }
    // Requested before the task starts, so that no change from now on is missed.
    let events = store.changes(of: [name])
    let reading = Task {
      for await _ in events { continuation.yield() }
      continuation.finish()
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }
}
