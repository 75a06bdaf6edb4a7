/// One item of a store, with its related names.
struct StoreItem: Sendable {
  let store: any SecretStore
  let key: StoreKey
  /// The key of its spent marker; exclusive access to this name is for refreshing.
  let markKey: StoreKey
  /// Exclusive access to this name is for changing the item; nothing is stored there.
  private let changeKey: StoreKey

  private static let changeTimeout = Duration.seconds(10)
  /// The executor of changes with exclusive access: blocking changes may hold all threads of the
  /// cooperative pool while they wait for that access.
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
    markKey = try SpentMark.key(for: key)
    changeKey = try SpentMark.key(for: markKey)
  }

  /// The item's address for shared reads; `nil` where each task must read for itself.
  var sharedAddress: ItemAddress? {
    // A gate is not an object: it may give an item to one task, and not to another.
    guard type(of: store) is AnyClass else { return nil }
    return ItemAddress(store: store, key: key, reader: ObjectIdentifier(store as AnyObject))
  }

  /// Makes changes if the stored item is one of some versions.
  ///
  /// - Returns: The outcome.
  func apply(
    _ changes: [StoreChange], ifStored versions: Set<ItemVersion>
  ) async throws -> StoredItem {
    try await exclusively {
      // Read past a gate, because the item is only compared, and given to no one. The item that a
      // server issued in exchange must be stored even while no user is authenticated.
      guard let stored = try await store.innermost.value(for: key) else { return .nothing }
      guard versions.contains(ItemVersion(stored)) else { return .another }
      try await store.apply(changes)
      return .asWished
    }
  }

  /// Removes the item and its spent marker.
  func remove() async throws {
    try await change { try await store.apply([.remove(key), .remove(markKey)]) }
  }

  /// Makes a change while no change is made that depends on the stored item.
  func change(_ body: () throws -> Void) throws {
    try store.withExclusiveAccess(to: changeKey, timeout: Self.changeTimeout, body)
  }

  /// Makes a change while no change is made that depends on the stored item.
  func change(_ body: () async throws -> Void) async throws {
    try await exclusively(body)
  }

  /// Changes several items, while no change is made to any of them that depends on the stored item.
  ///
  /// Takes exclusive access to one item after the other and keeps it until the change is made. All
  /// callers use the same order, and a change of a single item waits for no other item, so that
  /// they cannot deadlock. The items are of one store, in the order of their names.
  ///
  /// - Throws: `timedOut` when getting exclusive access to all of them takes too long.
  static func change(_ items: [StoreItem], _ body: () async throws -> Void) async throws {
    // On a thread of its own: thousands of items would hold up the other changes.
    try await withTaskExecutorPreference(QueueExecutor("session-tools.many-changes")) {
      // Half of the time that others wait for one of these items.
      try await change(items[...], until: .now + changeTimeout / 2, body)
    }
  }

  private static func change(
    _ items: ArraySlice<StoreItem>, until deadline: ContinuousClock.Instant,
    _ body: () async throws -> Void
  ) async throws {
    guard let item = items.first else { return try await body() }
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
        StoreError.timedOut, store: "\(item.key)",
        reason: "other changes of the item did not finish in time, and nothing was changed",
        remedy: "Try again")
    }
  }

  private func exclusively<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await withTaskExecutorPreference(Self.executor) {
      try await store.withExclusiveAccess(to: changeKey, timeout: Self.changeTimeout, body)
    }
  }

  /// Removes the item's spent marker.
  func removeMark() throws {
    if try store.contains(markKey) { try store.remove(markKey) }
  }

  /// Removes the item's spent marker.
  func removeMark() async throws {
    if try await store.contains(markKey) { try await store.remove(markKey) }
  }
}

/// The outcome of a change that depends on the stored item.
enum StoredItem: Sendable {
  /// The change was made.
  case asWished
  /// The change was not made, because another item is stored.
  case another
  /// The change was not made, because no item is stored.
  case nothing
}
