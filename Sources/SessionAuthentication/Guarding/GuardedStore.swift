public import SessionToolsBase
import Synchronization

/// A store whose values can be read only while a gate is open.
///
/// Names are not secret here: listing them, and checking whether an item exists, works as in the
/// store, without asking the person. Changes also need no authentication, unless they are guarded
/// as well, so that while the gate is locked a session can be ended, and a refresh under way can be
/// stored.
///
/// The gate is in the program, so only the program's own user interface is bound by it. Protection
/// from others is up to the store: attach that to the gate, too.
public struct GuardedStore: SecretStore, WrappingStore {
  /// The store behind the gate.
  public let base: any SecretStore
  private let door: GateDoor

  /// What an `async` read does while the gate is locked.
  ///
  /// Reads of a session's state, and those by sign-in, sign-out and a refresh under way, are
  /// refused in every case: they are not on the person's request.
  public enum WhenLocked: Hashable, Sendable {
    /// It fails with `locked`.
    case refuse
    /// It waits, at most this long, until the person is authenticated; it does not ask.
    case wait(Duration)
    /// It asks the person, and waits.
    case authenticate
  }

  /// Puts a store behind a gate.
  ///
  /// - Parameters:
  ///   - base: The store.
  ///   - gate: The gate.
  ///   - whenLocked: What an `async` read does while the gate is locked.
  ///   - guardsChanges: Whether changes also need authentication.
  public init(
    _ base: some SecretStore, behind gate: AuthenticationGate,
    whenLocked: WhenLocked = .refuse, guardsChanges: Bool = false
  ) {
    self.init(
      base, door: GateDoor(gate: gate, whenLocked: whenLocked, guardsChanges: guardsChanges))
  }

  init(_ base: any SecretStore, door: GateDoor) {
    self.base = base
    self.door = door
  }

  /// The store's traits.
  public var traits: StoreTraits { base.traits }

  /// Returns the protection of the store.
  ///
  /// - Throws: As the store.
  public func protection() throws(StoreError) -> StoreProtection { try base.protection() }

  // MARK: - Guarded

  /// Reads one value if the gate is open: a blocking call never waits for a person.
  ///
  /// - Throws: `locked` when the gate is locked; the store's errors.
  public func value(for name: ItemName) throws(StoreError) -> SecretBytes? {
    try door.refuseIfLocked()
    return try base.value(for: name)
  }

  /// Reads one value when the gate is open.
  ///
  /// - Throws: `locked` when the gate is locked and the read does not wait, or the
  ///   authentication failed; `timedOut`, `cancelled`; the store's errors.
  public func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await door.waitUntilOpen()
    let value = try await base.value(for: name)
    // The gate may have locked during the read.
    try door.refuseIfLocked()
    return value
  }

  /// Makes changes, if changes are not guarded or the gate is open.
  ///
  /// - Throws: `locked`; the store's errors.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    if door.guardsChanges { try door.refuseIfLocked() }
    try base.apply(changes)
  }

  /// Makes changes, at once if changes are not guarded, otherwise when the gate is open.
  ///
  /// - Throws: The errors of ``asyncValue(for:)`` and of the store.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await waitUntilChangesAreAllowed()
    try await base.apply(changes)
  }

  /// Waits for the gate if changes are guarded.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  package func waitUntilChangesAreAllowed() async throws(StoreError) {
    if door.guardsChanges { try await door.waitUntilOpen() }
  }

  // MARK: - Not guarded

  /// Returns whether there is an item, without asking the person.
  ///
  /// - Throws: The store's errors.
  public func contains(_ name: ItemName) throws(StoreError) -> Bool { try base.contains(name) }

  /// Returns whether there is an item, without asking the person.
  ///
  /// - Throws: The store's errors.
  public func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool {
    try await base.contains(name)
  }

  /// Checks the store, whether or not the gate is open.
  ///
  /// - Throws: The store's errors.
  public func check(within timeout: Duration) throws(StoreError) {
    try base.check(within: timeout)
  }

  /// Checks the store, whether or not the gate is open.
  ///
  /// - Throws: The store's errors.
  public func asyncCheck(within timeout: Duration) async throws(StoreError) {
    try await base.check(within: timeout)
  }

  /// Returns the names of one namespace, or of all, without asking the person.
  ///
  /// - Throws: The store's errors.
  public func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    try base.names(in: namespace)
  }

  /// Returns the names of one namespace, or of all, without asking the person.
  ///
  /// - Throws: The store's errors.
  public func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await base.names(in: namespace)
  }

  /// Runs a closure while no other caller has exclusive access to the same name.
  ///
  /// - Throws: The store's errors.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try base.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  /// Runs a closure while no other caller has exclusive access to the same name.
  ///
  /// - Throws: The store's errors.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await base.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  /// Returns the store's events, and `resynchronize` each time the gate opens or locks.
  public func changes() -> AsyncStream<StoreEvent> {
    withOpenings(base.changes())
  }

  /// Returns the store's events of some names, and `resynchronize` each time the gate opens or
  /// locks.
  public func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent> {
    withOpenings(base.changes(of: names))
  }

  private func withOpenings(_ changes: AsyncStream<StoreEvent>) -> AsyncStream<StoreEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
    // Both begin before this returns, so that no later event is missed.
    let openings = door.openings
    let listening = [
      Task {
        for await change in changes { continuation.yield(change) }
        continuation.finish()
      },
      Task { for await _ in openings { continuation.yield(.resynchronize) } },
    ]
    continuation.onTermination = { _ in
      for task in listening { task.cancel() }
    }
    return stream
  }
}
