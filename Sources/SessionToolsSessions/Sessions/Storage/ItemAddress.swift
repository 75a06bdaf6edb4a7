import SecretStores
/// An item of a store, and how sessions change it there.
struct ItemAddress: Sendable {
  let store: any SecretStore
  let name: ItemName
  // Found once, because every refresh needs them; a gate is always before the same store.
  /// The same store, if it is a gate before another one.
  let gate: (any WrappingStore)?
  /// The store below all gates, if its exclusive access may end before its closure does.
  let leasing: (any LeasingStore)?
  /// The store below all gates, if it compares the item and changes it in one step: then no change
  /// needs exclusive access.
  private let conditional: (any ConditionalStore)?
  /// The store object, for waiters that get the item of another one's refresh; `nil` if each must
  /// read for itself.
  ///
  /// A gate is not an object: it gives an item to one caller, and not to another.
  let reader: ObjectIdentifier?

  private static let changeTimeout = Duration.seconds(10)
  /// Runs closures that have exclusive access: blocking changes may hold all threads of the
  /// cooperative pool while they wait for it.
  private static let executor = BlockingExecutor(maximumThreadCount: 1)

  /// Names an item in a container.
  ///
  /// - Throws: `invalidName`.
  init(_ identifier: String, in container: StoreContainer<some Any>) throws(StoreError) {
    self.init(try container.name(identifier), in: container.store)
  }

  /// Names an item in a store.
  init(_ name: ItemName, in store: any SecretStore) {
    self.store = store
    self.name = name
    gate = store as? any WrappingStore
    let innermost = store.innermost
    leasing = innermost as? any LeasingStore
    conditional = innermost as? any ConditionalStore
    reader = store.object
  }

  /// Makes a change of the item if one of some versions is stored.
  func apply(
    _ change: StoreChange, ifStored versions: Set<ItemVersion>
  ) async throws -> ChangeOutcome {
    let condition = ItemCondition.stored(name, isOneOf: versions)
    if let conditional {
      try await gate?.waitUntilAllAllowChanges()
      return try await conditional.asyncApply([change], if: condition)
    }
    return try await exclusively {
      // Below a gate, if there is one: the value is compared and given to no one. The item that a
      // server issued in exchange for the stored one must be stored even while no user is
      // authenticated.
      let outcome = condition.outcome(whenStored: try await store.innermost.asyncValue(for: name))
      if outcome == .made { try await store.asyncApply([change]) }
      return outcome
    }
  }

  /// Makes a change of the item while no change that depends on it is made.
  func make(_ change: StoreChange) throws {
    guard conditional == nil else { return try store.apply([change]) }
    try store.withExclusiveAccess(to: name.changeLock, timeout: Self.changeTimeout) {
      try store.apply([change])
    }
  }

  /// Makes a change of the item while no change that depends on it is made.
  func make(_ change: StoreChange) async throws {
    guard conditional == nil else { return try await store.asyncApply([change]) }
    try await exclusively { try await store.asyncApply([change]) }
  }

  /// Makes a change of each of several items, all or none, while no change that depends on one of
  /// them is made.
  ///
  /// Takes exclusive access to one item after the other and keeps it until the change is made. All
  /// callers use the same order, and a change of a single item waits for no other item, so that
  /// they cannot deadlock. The items are of one store, in the order of their names.
  ///
  /// - Throws: `timedOut` when the exclusive access to all takes too long to get.
  static func make(_ changes: [StoreChange], of items: [ItemAddress]) async throws {
    guard let first = items.first else { return }
    guard first.conditional == nil else { return try await first.store.asyncApply(changes) }
    // On a thread of its own: thousands of items would hold up the other changes.
    try await withTaskExecutorPreference(BlockingExecutor(maximumThreadCount: 1)) {
      // Half of the time that others wait for one of these items.
      try await make(changes, holding: items[...], in: first.store, until: .now + changeTimeout / 2)
    }
  }

  private static func make(
    _ changes: [StoreChange], holding items: ArraySlice<ItemAddress>, in store: any SecretStore,
    until deadline: ContinuousClock.Instant
  ) async throws {
    guard let item = items.first else { return try await store.asyncApply(changes) }
    var isHeld = false
    do {
      try await store.withExclusiveAccess(
        to: item.name.changeLock, timeout: max(.zero, deadline - .now)
      ) {
        isHeld = true
        try await make(changes, holding: items.dropFirst(), in: store, until: deadline)
      }
    } catch StoreError.timedOut where !isHeld {
      throw StoreError(
        .timedOut, store: "\(item.name)",
        reason: "other changes of the item did not finish in time, and nothing was changed",
        remedy: "Try again")
    }
  }

  private func exclusively<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await withTaskExecutorPreference(Self.executor) {
      try await store.withExclusiveAccess(
        to: name.changeLock, timeout: Self.changeTimeout, body)
    }
  }
}
