package import SecretStores

/// An item of a store, and how sessions change it there.
package struct ItemAddress: Sendable {
  package let store: any SecretStore
  package let name: ItemName
  /// The name of the record that the server rejected the item; `nil` where none is kept: only
  /// accounts are listed after a rejection.
  let rejection: ItemName?
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
    let name = try container.name(identifier)
    self.init(
      name, in: container.store,
      rejection: container.account == nil ? nil : AccountItemName.rejection(of: name))
  }

  /// Names an item in a store.
  package init(_ name: ItemName, in store: any SecretStore, rejection: ItemName? = nil) {
    self.store = store
    self.name = name
    self.rejection = rejection
    gate = store as? any WrappingStore
    let innermost = store.innermost
    leasing = innermost as? any LeasingStore
    conditional = innermost as? any ConditionalStore
    reader = store.object
  }

  /// Makes changes of the item, and of its record, if what is stored meets a condition.
  package func apply(
    _ changes: [StoreChange], if condition: ItemCondition
  ) async throws -> ChangeOutcome {
    if let conditional {
      try await gate?.waitUntilAllAllowChanges()
      return try await conditional.asyncApply(changes, if: condition)
    }
    return try await exclusively {
      // Below a gate, if there is one: the value is compared and given to no one. The item that a
      // server issued in exchange for the stored one must be stored even while no user is
      // authenticated.
      let outcome = condition.outcome(whenStored: try await store.innermost.asyncValue(for: name))
      if outcome == .made { try await store.asyncApply(changes) }
      return outcome
    }
  }

  /// Makes sure, as far as that can be known, that an item in the place of a version can be stored,
  /// also one that is much larger.
  func checkRoom(replacing version: ItemVersion) throws(StoreError) {
    guard case .bytes(let count, _) = version else { return }
    try conditional?.checkRoom(forValueOf: 2 * count + 8192)
  }

  /// Makes changes of the item, and of its record, while no change that depends on it is made.
  func make(_ changes: [StoreChange]) throws {
    guard conditional == nil else { return try store.apply(changes) }
    try store.withExclusiveAccess(to: name.changeLock, timeout: Self.changeTimeout) {
      try store.apply(changes)
    }
  }

  /// Makes changes of the item, and of its record, while no change that depends on it is made.
  package func make(_ changes: [StoreChange]) async throws {
    guard conditional == nil else { return try await store.asyncApply(changes) }
    try await exclusively { try await store.asyncApply(changes) }
  }

  /// Makes changes of several items and of their records, all or none, while no change that depends
  /// on one of the items is made.
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
