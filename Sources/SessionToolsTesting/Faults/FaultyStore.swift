public import SessionToolsBase

/// A store that does what another store does, until a test makes something go wrong.
///
/// ```swift
/// let store = FaultyStore(MemoryStore())
/// let session = Session<User>(
///   container: try StoreContainer(store, service: "mail"), storageIdentifier: "user")
///
/// store.lock()                                                  // until it is unlocked
/// store.inject(.failing(StoreError.noSpace), into: [.apply])    // the next change
/// store.inject(.slow(.seconds(5), by: clock), into: .reads, times: nil)
/// store.inject(.outcomeUnknown(isMade: true), of: name, after: 2)  // the third change of a name
/// ```
///
/// Faults happen in the order they were injected. Blocking calls make blocking calls of the other
/// store, and `async` calls make `async` calls. Without a fault, it keeps every promise that the
/// other store keeps. Any number of tasks and threads may use it at the same time.
public final class FaultyStore: SecretStore {
  private let store: any SecretStore
  /// The name in errors.
  private let name: String
  private let isAtomic: Bool?
  private let maximumValueByteCount: Int?
  private let maximumChangeCount: Int?
  private let script = Shared(FaultScript())
  private let relay = EventRelay()

  /// Wraps a store.
  ///
  /// - Parameters:
  ///   - store: The store that keeps the items.
  ///   - name: The name of this store in errors.
  ///   - isAtomic: `false` for a store that does not promise to be atomic, and can be torn; by
  ///     default as the other store. No wrapper makes a store atomic that is not.
  ///   - maximumValueByteCount: The largest value it takes, at most that of the other store, which
  ///     is the default.
  ///   - maximumChangeCount: The most changes it takes in one list, at most as many as the other
  ///     store promises to take, which is the default.
  public init(
    _ store: some SecretStore, name: String = "faulty store", isAtomic: Bool? = nil,
    maximumValueByteCount: Int? = nil, maximumChangeCount: Int? = nil
  ) {
    self.store = store
    self.name = name
    self.isAtomic = isAtomic
    self.maximumValueByteCount = maximumValueByteCount
    self.maximumChangeCount = maximumChangeCount
  }

  deinit {
    relay.stop()
  }

  /// The traits of the other store, with the limits that were given to the initializer.
  public var traits: StoreTraits {
    let traits = store.traits
    return StoreTraits(
      isAtomic: traits.isAtomic && isAtomic != false, isDurable: traits.isDurable,
      seesOtherProcesses: traits.seesOtherProcesses,
      excludesOtherProcesses: traits.excludesOtherProcesses,
      exclusionLease: traits.exclusionLease,
      maximumValueByteCount: min(
        traits.maximumValueByteCount, maximumValueByteCount ?? Int.max),
      maximumChangeCount: min(traits.maximumChangeCount, maximumChangeCount ?? Int.max),
      maximumListByteCount: traits.maximumListByteCount,
      isReadOnly: traits.isReadOnly)
  }

  /// Returns the protection of the other store.
  ///
  /// - Throws: As the other store.
  public func protection() throws(StoreError) -> StoreProtection { try store.protection() }

  // MARK: - Faults

  /// Makes something go wrong.
  ///
  /// - Parameters:
  ///   - fault: The fault that happens.
  ///   - operations: The operations to which it happens; those to which it cannot happen are not
  ///     affected.
  ///   - name: The item to which it happens; by default any.
  ///   - count: How many of the calls to which it could happen are not affected before.
  ///   - times: How often it happens; `nil` for every time until ``removeFaults()``.
  /// - Precondition: A store whose traits state that it is atomic cannot be torn.
  public func inject(
    _ fault: Fault, into operations: Set<Operation> = .all, of name: ItemName? = nil,
    after count: Int = 0, times: Int? = 1
  ) {
    precondition(count >= 0 && times ?? 1 >= 1, "a fault happens once or more")
    precondition(
      !fault.isTorn || !traits.isAtomic,
      "a store that promises to be atomic is never torn; make one with isAtomic: false")
    script.update { $0.add(fault, operations, name, after: count, times: times) }
  }

  /// Removes all faults; an outage continues.
  public func removeFaults() {
    script.update { $0.removeFaults() }
  }

  /// How many of the injected faults have not happened yet, without those that happen every time.
  public var leftFaultCount: Int { script.update { $0.leftCount } }

  /// Locks the store: until it is unlocked, everything but `changes` throws `locked`.
  ///
  /// A call that is being delayed throws it too.
  public func lock() {
    script.update { $0.outage = .locked }
  }

  /// Unlocks the store.
  ///
  /// - Parameter isReported: Whether listeners receive `resynchronize`, which some stores cannot
  ///   send.
  public func unlock(isReported: Bool = true) {
    endOutage(isReported)
  }

  /// Whether the store is locked.
  public var isLocked: Bool { script.update { $0.outage == .locked } }

  /// Makes the store unavailable: until it is reconnected, everything but `changes` throws
  /// `unavailable`.
  public func disconnect() {
    script.update { $0.outage = .unavailable }
  }

  /// Makes the store available again.
  ///
  /// - Parameter isReported: Whether listeners receive `resynchronize`, which some stores cannot
  ///   send.
  public func reconnect(isReported: Bool = true) {
    endOutage(isReported)
  }

  private func endOutage(_ isReported: Bool) {
    script.update { $0.outage = nil }
    if isReported { relay.report(.resynchronize) }
  }

  // MARK: - Calls

  /// Every call so far, in order, including calls that failed.
  public var calls: [Call] { script.update { $0.calls } }

  /// Returns how many calls of some operations there were.
  public func callCount(of operations: Set<Operation>) -> Int {
    script.update { $0.calls.count { operations.contains($0.operation) } }
  }

  /// Forgets the calls so far.
  public func removeCalls() {
    script.update { $0.removeCalls() }
  }
}

// MARK: - The store

extension FaultyStore {
  /// Reads one value.
  ///
  /// - Throws: As the other store, or an injected error.
  public func value(for name: ItemName) throws(StoreError) -> SecretBytes? {
    try begin(Call(.value, .blocking, names: [name]))
    return try store.value(for: name)
  }

  /// Reads one value.
  ///
  /// - Throws: As the other store, or an injected error.
  public func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await beginAsync(Call(.value, .async, names: [name]))
    return try await store.asyncValue(for: name)
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: As the other store, or an injected error.
  public func contains(_ name: ItemName) throws(StoreError) -> Bool {
    try begin(Call(.contains, .blocking, names: [name]))
    return try store.contains(name)
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: As the other store, or an injected error.
  public func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool {
    try await beginAsync(Call(.contains, .async, names: [name]))
    return try await store.asyncContains(name)
  }

  /// Returns the names of one namespace, or of all.
  ///
  /// - Throws: As the other store, or an injected error.
  public func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    try begin(Call(.names, .blocking, namespace: namespace))
    return try store.names(in: namespace)
  }

  /// Returns the names of one namespace, or of all.
  ///
  /// - Throws: As the other store, or an injected error.
  public func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await beginAsync(Call(.names, .async, namespace: namespace))
    return try await store.asyncNames(in: namespace)
  }

  /// Makes changes; no fault happens to an empty list.
  ///
  /// - Throws: As the other store, or an injected error; `valueTooLarge`.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    guard !changes.isEmpty else { return try store.apply(changes) }
    try checkSizes(changes)
    let end = try begin(Call(.apply, .blocking, names: changes.map(\.name)))
    guard let end else { return try store.apply(changes) }
    try store.apply(Array(changes.prefix(end.changeCount ?? changes.count)))
    throw end.error
  }

  /// Makes changes; no fault happens to an empty list.
  ///
  /// - Throws: As the other store, or an injected error; `valueTooLarge`.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    guard !changes.isEmpty else { return try await store.asyncApply(changes) }
    try checkSizes(changes)
    let end = try await beginAsync(Call(.apply, .async, names: changes.map(\.name)))
    guard let end else { return try await store.asyncApply(changes) }
    try await store.asyncApply(Array(changes.prefix(end.changeCount ?? changes.count)))
    throw end.error
  }

  /// Runs a closure with exclusive access to a name.
  ///
  /// - Throws: As the other store; or an injected error, without running the closure.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try begin(Call(.exclusiveAccess, .blocking, names: [name]))
    return try store.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  /// Runs a closure with exclusive access to a name.
  ///
  /// - Throws: As the other store; or an injected error, without running the closure.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await beginAsync(Call(.exclusiveAccess, .async, names: [name]))
    return try await store.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  /// Returns a stream of the other store's changes, with `resynchronize` when an outage ends.
  public func changes() -> AsyncStream<StoreEvent> {
    for effect in script.update({ $0.begin(Call(.changes, .blocking)) }) {
      switch effect {
      case .clockJump(let duration, let clock): clock.jump(wallClockBy: duration)
      case .failure: return AsyncStream { $0.finish() }
      case .delay, .partlyMade: break
      }
    }
    return relay.stream(of: store)
  }

  private func checkSizes(_ changes: [StoreChange]) throws(StoreError) {
    if let maximumChangeCount, changes.count > maximumChangeCount {
      throw StoreError(
        .valueTooLarge, store: name, reason: "one change has \(changes.count) items",
        remedy: "Make several changes of at most \(maximumChangeCount) items")
    }
    guard let maximumValueByteCount else { return }
    for case .put(let value, for: let itemName) in changes
    where value.byteCount > maximumValueByteCount {
      throw StoreError(
        .valueTooLarge, store: name,
        reason: "the value for \(itemName) has \(value.byteCount) bytes",
        remedy: "A value has at most \(maximumValueByteCount) bytes")
    }
  }
}

// MARK: - Going wrong

extension FaultyStore {
  /// The end of a change that goes wrong after it has begun.
  private struct End {
    /// How many changes are made; `nil` for all.
    let changeCount: Int?
    let error: StoreError
  }

  /// Records a call, and makes it go wrong if a fault happens to it.
  ///
  /// - Returns: How the call ends, if it goes wrong after it has begun.
  /// - Throws: The error of a call that goes wrong before it has begun.
  @discardableResult
  private func begin(_ call: Call) throws(StoreError) -> End? {
    let effects = script.update { $0.begin(call) }
    for case .delay(let duration, let clock) in effects { clock.block(for: duration) }
    return try end(of: effects)
  }

  /// Records a call, and makes it go wrong if a fault happens to it.
  ///
  /// - Returns: How the call ends, if it goes wrong after it has begun.
  /// - Throws: The error of a call that goes wrong before it has begun.
  @discardableResult
  private func beginAsync(_ call: Call) async throws(StoreError) -> End? {
    let effects = script.update { $0.begin(call) }
    for case .delay(let duration, let clock) in effects {
      do {
        try await clock.sleep(for: duration)
      } catch {
        throw StoreError(
          .cancelled, store: name,
          reason: "the task was cancelled before the slow store did anything")
      }
    }
    return try end(of: effects)
  }

  private func end(of effects: [Fault.Effect]) throws(StoreError) -> End? {
    // Checked only now: the store may have been locked during a delay.
    switch script.update({ $0.outage }) {
    case .locked: throw error(StoreError.locked, "it is locked", "Unlock it")
    case .unavailable: throw error(StoreError.unavailable, "it is out of reach", "Reconnect it")
    case nil: break
    }
    for effect in effects {
      switch effect {
      case .delay: break
      case .clockJump(let duration, let clock): clock.jump(wallClockBy: duration)
      case .failure(let code, let reason): throw error(code, reason)
      case .partlyMade(let changeCount, let code):
        return End(
          changeCount: changeCount,
          error: error(code, "a test makes the change fail", "Read the items again"))
      }
    }
    return nil
  }

  private func error(
    _ code: StoreError.Code, _ reason: String, _ remedy: String? = nil
  ) -> StoreError {
    StoreError(code, store: name, reason: reason, remedy: remedy)
  }
}
