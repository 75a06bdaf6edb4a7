/// One item of a store, and what belongs to it.
struct StoreItem: Sendable {
  let store: any SecretStore
  let key: StoreKey
  /// Where its mark is; exclusive access to this name is for refreshing.
  let markKey: StoreKey
  /// Exclusive access to this name is for changing the item; nothing is kept there.
  private let changeKey: StoreKey

  private static let changeTimeout = Duration.seconds(10)
  /// Where whoever has exclusive access goes on: blocking changes may hold all threads of the
  /// cooperative pool while they wait for it.
  private static let executor = QueueExecutor("session-tools.changes")

  /// - Throws: `invalidName`.
  init(_ identifier: String, in container: StoreContainer<some Any>) throws(StoreError) {
    try self.init(container.key(identifier), in: container.store)
  }

  /// - Throws: `invalidName`.
  init(_ key: StoreKey, in store: any SecretStore) throws(StoreError) {
    self.store = store
    self.key = key
    markKey = try SpentMark.key(for: key)
    changeKey = try SpentMark.key(for: markKey)
  }

  /// The same, for those who read the item together; `nil` where each has to ask for itself.
  var sharedAddress: ItemAddress? {
    // A gate is no object: it gives an item to one, and not to another.
    guard type(of: store) is AnyClass else { return nil }
    return ItemAddress(store: store, key: key, reader: ObjectIdentifier(store as AnyObject))
  }

  /// Makes changes if what is stored is one of some versions.
  ///
  /// - Returns: What is stored after that.
  func apply(
    _ changes: [StoreChange], ifStored versions: Set<ItemVersion>
  ) async throws -> StoredItem {
    try await exclusively {
      // Of what a gate may be before: compared, and given to nobody. What a server gave in exchange for
      // the stored item has to be stored also while nobody is authenticated.
      guard let stored = try await store.innermost.value(for: key) else { return .nothing }
      guard versions.contains(ItemVersion(stored)) else { return .another }
      try await store.apply(changes)
      return .asWished
    }
  }

  /// Removes the item and its mark.
  func remove() async throws {
    try await change { try await store.apply([.remove(key), .remove(markKey)]) }
  }

  /// Makes a change while nobody makes one that depends on what is stored.
  func change(_ body: () throws -> Void) throws {
    try store.withExclusiveAccess(to: changeKey, timeout: Self.changeTimeout, body)
  }

  /// Makes a change while nobody makes one that depends on what is stored.
  func change(_ body: () async throws -> Void) async throws {
    try await exclusively(body)
  }

  /// Changes several items, while no change is made to any of them that depends on what is stored.
  ///
  /// Takes the exclusive access to one item after the other and keeps it until the change is made.
  /// All callers go by the same order, and a change of a single item waits for no other item, so
  /// that they cannot wait in a circle. The items are of one store, in the order of their names.
  ///
  /// - Throws: `timedOut` when the exclusive access to all takes too long to get.
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
        reason: "changes of the item by others did not end in time, and nothing was changed",
        remedy: "Try again")
    }
  }

  private func exclusively<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await withTaskExecutorPreference(Self.executor) {
      try await store.withExclusiveAccess(to: changeKey, timeout: Self.changeTimeout, body)
    }
  }

  /// Forgets that what refreshes the item may be spent.
  func removeMark() throws {
    if try store.contains(markKey) { try store.remove(markKey) }
  }

  /// Forgets that what refreshes the item may be spent.
  func removeMark() async throws {
    if try await store.contains(markKey) { try await store.remove(markKey) }
  }
}

/// What became of a change that depends on what is stored.
enum StoredItem: Sendable {
  /// It was made.
  case asWished
  /// It was not, because there is another item.
  case another
  /// It was not, because there is none.
  case nothing
}
