public import Foundation
public import SessionToolsBase

/// A container whose items can be read only while a gate is open.
///
/// ```swift
/// let session = UserSession(
///   container: GuardedContainer(keychain, behind: gate), storageIdentifier: "user")
/// ```
///
/// While the gate is locked, a session's state is `unavailable`, and never signed out. The
/// container still reports whether an item exists, without asking the person. Sessions on a
/// container with a store still share one refresh among all processes, as without the gate.
public struct GuardedContainer<Item: Codable>: ObservableSessionContainer {
  private let base: AnySessionContainer<Item>
  private let door: GateDoor

  /// Puts a container behind a gate.
  ///
  /// - Parameters:
  ///   - base: The container.
  ///   - gate: The gate.
  ///   - whenLocked: What an `async` read does while the gate is locked.
  ///   - guardsChanges: Whether changes also need authentication.
  public init(
    _ base: some SessionContainer<Item>, behind gate: AuthenticationGate,
    whenLocked: GuardedStore.WhenLocked = .refuse, guardsChanges: Bool = false
  ) {
    self.base = AnySessionContainer(base)
    door = GateDoor(gate: gate, whenLocked: whenLocked, guardsChanges: guardsChanges)
  }

  // MARK: - Guarded

  /// Reads an item if the gate is open: a blocking call never waits for a person.
  ///
  /// - Throws: `StoreError.locked` when the gate is locked; the container's errors.
  public func item(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> Item? {
    try door.refuseIfLocked()
    return try base.item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Reads an item if the gate is open; `nil` means only that the item does not exist.
  ///
  /// - Throws: The errors of ``item(forIdentifier:jsonDecoder:)``.
  public func loadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> Item? {
    try door.refuseIfLocked()
    return try base.loadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Reads an item when the gate is open; `nil` means only that the item does not exist.
  ///
  /// - Throws: `StoreError.locked` when the gate is locked and the read does not wait, or the
  ///   authentication failed; `timedOut`, `cancelled`; the container's errors.
  public func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) async throws -> sending Item? {
    try await door.waitUntilOpen()
    let item = try await base.asyncLoadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
    // The gate may have locked during the read.
    try door.refuseIfLocked()
    return item
  }

  /// Stores an item, if changes are not guarded or the gate is open.
  ///
  /// - Throws: `StoreError.locked`; the container's errors.
  public func storeItem(
    _ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder = JSONEncoder()
  ) throws {
    if door.guardsChanges { try door.refuseIfLocked() }
    try base.storeItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Stores an item, at once if changes are not guarded, otherwise when the gate is open.
  ///
  /// - Throws: The errors of ``asyncLoadItem(forIdentifier:jsonDecoder:)``.
  public func asyncStoreItem(
    _ item: sending Item, forIdentifier identifier: String,
    jsonEncoder: JSONEncoder = JSONEncoder()
  ) async throws {
    if door.guardsChanges { try await door.waitUntilOpen() }
    try await base.asyncStoreItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Removes an item, if changes are not guarded or the gate is open.
  ///
  /// - Throws: `StoreError.locked`; the container's errors.
  public func removeItem(forIdentifier identifier: String) throws {
    if door.guardsChanges { try door.refuseIfLocked() }
    try base.removeItem(forIdentifier: identifier)
  }

  /// Removes an item, at once if changes are not guarded, otherwise when the gate is open.
  ///
  /// - Throws: The errors of ``asyncLoadItem(forIdentifier:jsonDecoder:)``.
  public func asyncRemoveItem(forIdentifier identifier: String) async throws {
    if door.guardsChanges { try await door.waitUntilOpen() }
    try await base.asyncRemoveItem(forIdentifier: identifier)
  }

  // MARK: - Not guarded

  /// Returns whether there is an item; `false` also when the container cannot determine it.
  public func hasItem(forIdentifier identifier: String) -> Bool {
    base.hasItem(forIdentifier: identifier)
  }

  /// Returns whether there is an item, without asking the person.
  ///
  /// - Throws: The container's errors.
  public func containsItem(forIdentifier identifier: String) throws -> Bool {
    try base.containsItem(forIdentifier: identifier)
  }

  /// Returns whether there is an item, without asking the person.
  ///
  /// - Throws: The container's errors.
  public func asyncContainsItem(forIdentifier identifier: String) async throws -> Bool {
    try await base.asyncContainsItem(forIdentifier: identifier)
  }

  /// Returns an element each time the item may have changed, or the gate has opened or locked.
  public func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    // Both begin before this returns, so that no later event is missed.
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

  /// Puts the container's store behind the same gate.
  package func wrap(_ store: any SecretStore) -> any SecretStore {
    GuardedStore(store, door: door)
  }
}
