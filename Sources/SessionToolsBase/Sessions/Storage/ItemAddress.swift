/// An item of a store, and the names that belong to it.
struct ItemAddress: Sendable {
  let store: any SecretStore
  let key: StoreKey
  /// The name of the notice that the item's refresh token may be spent; a refresh of the item has
  /// exclusive access to this name.
  let noticeKey: StoreKey
  /// A change of the item has exclusive access to this name; nothing is stored under it.
  private let changeKey: StoreKey
  /// The store below all gates, if it looks at the item and changes it in one step: then no change
  /// needs exclusive access.
  private let conditional: (any ConditionalStore)?

  private static let changeTimeout = Duration.seconds(10)
  /// Runs closures that have exclusive access: blocking changes may hold all threads of the
  /// cooperative pool while they wait for it.
  private static let executor = QueueExecutor("session-tools.changes")

  /// Makes the names of an item in a container.
  ///
  /// - Throws: `invalidName`.
  init(_ identifier: String, in container: StoreContainer<some Any>) throws(StoreError) {
    try self.init(container.key(identifier), in: container.store)
  }

  /// Makes the names of an item in a store.
  ///
  /// - Throws: `invalidName`.
  init(_ key: StoreKey, in store: any SecretStore) throws(StoreError) {
    self.store = store
    self.key = key
    noticeKey = try SpentNotice.key(for: key)
    changeKey = try SpentNotice.key(for: noticeKey)
    conditional = store.innermost as? any ConditionalStore
  }

  /// The store object, for tasks that share one read; `nil` if each must read for itself.
  var reader: ObjectIdentifier? {
    // A gate is not an object: it gives an item to one caller, and not to another.
    store.object
  }

  /// Makes changes if the stored item is one of some versions.
  func apply(
    _ changes: [StoreChange], ifStored versions: Set<ItemVersion>
  ) async throws -> ChangeOutcome {
    if let conditional {
      try await store.waitUntilChangesAreAllowed()
      return try await conditional.apply(changes, if: key, isOneOf: versions)
    }
    return try await exclusively {
      // Below a gate, if there is one: the value is compared and given to no one. The item that a
      // server issued in exchange for the stored one must be stored even while no user is
      // authenticated.
      guard let stored = try await store.innermost.value(for: key) else { return .noItem }
      guard versions.contains(ItemVersion(stored)) else { return .otherItem }
      try await store.apply(changes)
      return .made
    }
  }

  /// Removes the item and its notice.
  func remove() async throws {
    try await change { try await store.apply([.remove(key), .remove(noticeKey)]) }
  }

  /// Makes a change while no change that depends on the stored item is made.
  func change(_ body: () throws -> Void) throws {
    guard conditional == nil else { return try body() }
    try store.withExclusiveAccess(to: changeKey, timeout: Self.changeTimeout, body)
  }

  /// Makes a change while no change that depends on the stored item is made.
  func change(_ body: () async throws -> Void) async throws {
    guard conditional == nil else { return try await body() }
    try await exclusively(body)
  }

  /// Changes several items while no change that depends on a stored item is made to any of them.
  ///
  /// Takes exclusive access to one item after the other and keeps it until the change is made. All
  /// callers use the same order, and a change of a single item waits for no other item, so that
  /// they cannot deadlock. The items are of one store, in the order of their names.
  ///
  /// - Throws: `timedOut` when the exclusive access to all takes too long to get.
  static func change(_ items: [ItemAddress], _ body: () async throws -> Void) async throws {
    // On a thread of its own: thousands of items would hold up the other changes.
    try await withTaskExecutorPreference(QueueExecutor("session-tools.many-changes")) {
      // Half of the time that others wait for one of these items.
      try await change(items[...], until: .now + changeTimeout / 2, body)
    }
  }

  private static func change(
    _ items: ArraySlice<ItemAddress>, until deadline: ContinuousClock.Instant,
    _ body: () async throws -> Void
  ) async throws {
    guard let item = items.first, item.conditional == nil else { return try await body() }
    var isHeld = false
    do {
      try await item.store.withExclusiveAccess(
        to: item.changeKey, timeout: max(.zero, deadline - .now)
      ) {
        isHeld = true
        try await change(items.dropFirst(), until: deadline, body)
      }
    } catch StoreError.timedOut where !isHeld {
      throw StoreError(
        .timedOut, store: "\(item.key)",
        reason: "other changes of the item did not finish in time, and nothing was changed",
        remedy: "Try again")
    }
  }

  private func exclusively<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await withTaskExecutorPreference(Self.executor) {
      try await store.withExclusiveAccess(to: changeKey, timeout: Self.changeTimeout, body)
    }
  }
}
