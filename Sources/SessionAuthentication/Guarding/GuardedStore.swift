public import SessionToolsBase
import Synchronization

/// A store whose values are given only while a gate is open.
///
/// Names are no secret here: listing them, and asking whether there is an item, is answered as the
/// store does, and never asks anybody anything. Changes are made without authentication too, unless
/// the policy says otherwise, so that a session can be ended, and a refresh that is under way when the
/// gate locks be stored, while nobody looks.
///
/// The gate is in the program, so this is what the program's own user interface keeps to. What is
/// protected from others is up to the store: attach that to the gate, too.
public struct GuardedStore: SecretStore, WrappingStore {
  /// The store behind the gate.
  public let base: any SecretStore
  private let door: GateDoor

  /// Puts a store behind a gate.
  public init(
    _ base: some SecretStore, behind gate: AuthenticationGate, policy: GuardPolicy = GuardPolicy()
  ) {
    self.init(base, door: GateDoor(gate: gate, policy: policy))
  }

  init(_ base: any SecretStore, door: GateDoor) {
    self.base = base
    self.door = door
  }

  /// The store's.
  public var traits: StoreTraits { base.traits }

  // MARK: - Guarded

  /// Reads one value, if the gate is open: a call that blocks never waits for a person.
  ///
  /// - Throws: `locked` when it is not; as the store does.
  public func value(for key: StoreKey) throws(StoreError) -> SecretBytes? {
    try door.refuseIfLocked()
    return try base.value(for: key)
  }

  /// Reads one value, when the gate is open.
  ///
  /// - Throws: `locked` when it is not, and the policy is not to wait, or nobody was authenticated;
  ///   `timedOut`, `cancelled`; as the store does.
  public func asyncValue(for key: StoreKey) async throws(StoreError) -> SecretBytes? {
    try await door.waitUntilOpen()
    let value = try await base.value(for: key)
    // It may have taken its time.
    try door.refuseIfLocked()
    return value
  }

  /// Makes changes, if the policy lets anybody, or the gate is open.
  ///
  /// - Throws: `locked`; as the store does.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    if door.policy.guardsChanges { try door.refuseIfLocked() }
    try base.apply(changes)
  }

  /// Makes changes, if the policy lets anybody, or when the gate is open.
  ///
  /// - Throws: As ``asyncValue(for:)``; as the store does.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    if door.policy.guardsChanges { try await door.waitUntilOpen() }
    try await base.apply(changes)
  }

  // MARK: - Not guarded

  /// Whether there is an item; asks nobody.
  ///
  /// - Throws: As the store does.
  public func contains(_ key: StoreKey) throws(StoreError) -> Bool { try base.contains(key) }

  /// Whether there is an item; asks nobody.
  ///
  /// - Throws: As the store does.
  public func asyncContains(_ key: StoreKey) async throws(StoreError) -> Bool {
    try await base.contains(key)
  }

  /// The keys of one namespace, or of all; asks nobody.
  ///
  /// - Throws: As the store does.
  public func keys(in namespace: Namespace?) throws(StoreError) -> [StoreKey] {
    try base.keys(in: namespace)
  }

  /// The keys of one namespace, or of all; asks nobody.
  ///
  /// - Throws: As the store does.
  public func asyncKeys(in namespace: Namespace?) async throws(StoreError) -> [StoreKey] {
    try await base.keys(in: namespace)
  }

  /// Runs a closure while nobody else has exclusive access to the same name.
  ///
  /// - Throws: As the store does.
  public func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try base.withExclusiveAccess(to: key, timeout: timeout, body)
  }

  /// Runs a closure while nobody else has exclusive access to the same name.
  ///
  /// - Throws: As the store does.
  public func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await base.withExclusiveAccess(to: key, timeout: timeout, body)
  }

  /// What the store tells, and `resynchronize` each time that the gate opens or locks.
  public func changes() -> AsyncStream<StoreEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
    // Asked for before this returns, so that nothing from now on is missed.
    let (changes, openings) = (base.changes(), door.openings)
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
