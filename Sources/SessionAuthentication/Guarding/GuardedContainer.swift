public import Foundation
public import SessionToolsBase

/// A container whose items are given only while a gate is open.
///
/// ```swift
/// let session = UserSession(
///   container: GuardedContainer(keychain, behind: gate), storageIdentifier: "user")
/// ```
///
/// While the gate is locked, a session's state is `unavailable`, and never signed out. Whether there is
/// an item is answered as the container does, and asks nobody anything. Sessions of a container that is
/// on a store are refreshed once among all processes, as without the gate.
public struct GuardedContainer<Item: Codable>: ObservableSessionContainer {
  private let base: AnySessionContainer<Item>
  private let door: GateDoor

  /// Puts a container behind a gate.
  public init(
    _ base: some SessionContainer<Item>, behind gate: AuthenticationGate,
    policy: GuardPolicy = GuardPolicy()
  ) {
    self.base = AnySessionContainer(base)
    door = GateDoor(gate: gate, policy: policy)
  }

  // MARK: - Guarded

  /// Reads an item, if the gate is open: a call that blocks never waits for a person.
  ///
  /// - Throws: `StoreError.locked` when it is not; what the container throws.
  public func item(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> Item? {
    try door.refuseIfLocked()
    return try base.item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Reads an item, if the gate is open; `nil` when there is none, and for no other reason.
  ///
  /// - Throws: As ``item(forIdentifier:jsonDecoder:)``.
  public func loadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> Item? {
    try door.refuseIfLocked()
    return try base.loadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Reads an item when the gate is open; `nil` when there is none, and for no other reason.
  ///
  /// - Throws: `StoreError.locked` when it is not, and the policy is not to wait, or nobody was
  ///   authenticated; `timedOut`, `cancelled`; what the container throws.
  public func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) async throws -> sending Item? {
    try await door.waitUntilOpen()
    let item = try await base.asyncLoadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
    // It may have taken its time.
    try door.refuseIfLocked()
    return item
  }

  /// Stores an item, if the policy lets anybody, or the gate is open.
  ///
  /// - Throws: `StoreError.locked`; what the container throws.
  public func storeItem(
    _ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder = JSONEncoder()
  ) throws {
    if door.policy.guardsChanges { try door.refuseIfLocked() }
    try base.storeItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Stores an item, if the policy lets anybody, or when the gate is open.
  ///
  /// - Throws: As ``asyncLoadItem(forIdentifier:jsonDecoder:)``.
  public func asyncStoreItem(
    _ item: sending Item, forIdentifier identifier: String,
    jsonEncoder: JSONEncoder = JSONEncoder()
  ) async throws {
    if door.policy.guardsChanges { try await door.waitUntilOpen() }
    try await base.asyncStoreItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Removes an item, if the policy lets anybody, or the gate is open.
  ///
  /// - Throws: `StoreError.locked`; what the container throws.
  public func removeItem(forIdentifier identifier: String) throws {
    if door.policy.guardsChanges { try door.refuseIfLocked() }
    try base.removeItem(forIdentifier: identifier)
  }

  /// Removes an item, if the policy lets anybody, or when the gate is open.
  ///
  /// - Throws: As ``asyncLoadItem(forIdentifier:jsonDecoder:)``.
  public func asyncRemoveItem(forIdentifier identifier: String) async throws {
    if door.policy.guardsChanges { try await door.waitUntilOpen() }
    try await base.asyncRemoveItem(forIdentifier: identifier)
  }

  // MARK: - Not guarded

  /// Whether there is an item; `false` also when the container cannot tell.
  public func hasItem(forIdentifier identifier: String) -> Bool {
    base.hasItem(forIdentifier: identifier)
  }

  /// Whether there is an item; asks nobody.
  ///
  /// - Throws: What the container throws.
  public func containsItem(forIdentifier identifier: String) throws -> Bool {
    try base.containsItem(forIdentifier: identifier)
  }

  /// Whether there is an item; asks nobody.
  ///
  /// - Throws: What the container throws.
  public func asyncContainsItem(forIdentifier identifier: String) async throws -> Bool {
    try await base.asyncContainsItem(forIdentifier: identifier)
  }

  /// An element each time the item may have changed, or the gate has opened or locked.
  public func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    // Asked for before this returns, so that nothing from now on is missed.
    let (changes, openings) = (base.itemChanges(forIdentifier: identifier), door.openings)
    let listening = [
      Task {
        for await _ in changes { continuation.yield() }
        continuation.finish()
      },
      Task { for await _ in openings { continuation.yield() } },
    ]
    continuation.onTermination = { _ in
      for task in listening { task.cancel() }
    }
    return stream
  }
}

extension GuardedContainer: WrappingContainer {
  /// The container behind the gate.
  package var wrapped: AnySessionContainer<Item> { base }

  /// The same gate before the container's store.
  package func wrap(_ store: any SecretStore) -> any SecretStore {
    GuardedStore(store, door: door)
  }
}
