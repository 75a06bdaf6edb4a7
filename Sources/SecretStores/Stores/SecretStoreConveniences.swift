/// What a store need not say or do.
extension SecretStore {
  /// Returns `nil`: the store has no identity.
  public func identity() throws(StoreError) -> String? { nil }

  /// Returns a stream that filters ``changes()``.
  public func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
    // Requested before the task starts, so that no change from now on is missed.
    let events = changes()
    let reading = Task {
      for await event in events {
        if let part = event.part(of: names) { continuation.yield(part) }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }
}

/// The `async` twins under the names of the blocking ones.
extension SecretStore {
  /// Reads one value; `nil` when there is no such item.
  ///
  /// - Throws: As the blocking twin.
  public func value(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await asyncValue(for: name)
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: As the blocking twin.
  public func contains(_ name: ItemName) async throws(StoreError) -> Bool {
    try await asyncContains(name)
  }

  /// Makes changes in the order given.
  ///
  /// Once begun, the change is not undone by cancelling the task.
  ///
  /// - Throws: As the blocking twin.
  public func apply(_ changes: [StoreChange]) async throws(StoreError) {
    try await asyncApply(changes)
  }

  /// Returns the names of one namespace, or of all when `nil`, in ascending order.
  ///
  /// - Throws: As the blocking twin.
  public func names(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await asyncNames(in: namespace)
  }
}

/// The changes most programs make.
extension SecretStore {
  /// Stores one value.
  ///
  /// - Throws: As ``SecretStore/apply(_:)``.
  public func put(_ value: SecretBytes, for name: ItemName) throws(StoreError) {
    try apply([.put(value, for: name)])
  }

  /// Stores one value.
  ///
  /// - Throws: As ``SecretStore/apply(_:)``.
  public func put(_ value: SecretBytes, for name: ItemName) async throws(StoreError) {
    try await apply([.put(value, for: name)])
  }

  /// Removes one item; an absent item is not an error.
  ///
  /// - Throws: As ``SecretStore/apply(_:)``.
  public func remove(_ name: ItemName) throws(StoreError) {
    try apply([.remove(name)])
  }

  /// Removes one item; an absent item is not an error.
  ///
  /// - Throws: As ``SecretStore/apply(_:)``.
  public func remove(_ name: ItemName) async throws(StoreError) {
    try await apply([.remove(name)])
  }

  /// Returns whether there is an item, by reading it: for stores that have no cheaper way.
  ///
  /// - Throws: As ``SecretStore/value(for:)``.
  public func contains(_ name: ItemName) throws(StoreError) -> Bool {
    try value(for: name) != nil
  }
}
