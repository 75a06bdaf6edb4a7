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

/// Checking a store that has no better way.
extension SecretStore {
  /// Asks for an item that there never is, and stops waiting when the time is over.
  ///
  /// - Throws: As the requirement.
  public func check(within timeout: Duration) throws(StoreError) {
    try BlockingAnswer.wait { () async throws(StoreError) in
      try await self.asyncCheck(within: timeout)
    }
  }

  /// Asks for an item that there never is, and stops waiting when the time is over.
  ///
  /// - Throws: As the requirement.
  public func asyncCheck(within timeout: Duration) async throws(StoreError) {
    let answer = FirstAnswer<Result<Void, StoreError>>()
    let kind = "\(Self.self)"
    // Not a child of this task, which must not wait for a store that does not answer.
    let asking = Task {
      do throws(StoreError) {
        _ = try await asyncContains(try ItemName("readiness", in: "org.session-tools.check"))
        answer.give(.success(()))
      } catch {
        answer.give(.failure(error))
      }
    }
    let waiting = Task {
      // It fails only when it is cancelled.
      try? await Task.sleep(for: timeout, clock: .continuous)
      answer.give(.failure(.noAnswer(of: kind, within: timeout)))
    }
    defer {
      asking.cancel()
      waiting.cancel()
    }
    try await answer.value(
      whenCancelled: .failure(
        StoreError(.cancelled, store: kind, reason: "the task was cancelled"))
    ).get()
  }
}

extension StoreError {
  fileprivate static func noAnswer(of store: String, within timeout: Duration) -> StoreError {
    StoreError(
      .timedOut, store: store, reason: "it did not answer within \(timeout)",
      remedy: "Look at what the store is in: the disk, the keyring's service or the database")
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

  /// Checks that the store can be read now, for a probe of readiness.
  ///
  /// - Throws: As the blocking twin, or `cancelled`.
  public func check(within timeout: Duration) async throws(StoreError) {
    try await asyncCheck(within: timeout)
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
