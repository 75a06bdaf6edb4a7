public import SecretStores

extension SealedDatabaseStore: ConditionalStore {
  /// Makes changes, all or none.
  ///
  /// Blocks until the server has committed them: one round trip when this process has read or
  /// written all of the items before, otherwise two. While another change of the same items is
  /// under way, it waits for that. Inside of a closure with exclusive access, nothing is changed
  /// unless the access still holds.
  ///
  /// - Throws: `locked`; `valueTooLarge` above 1 MiB for a value, or 1,000 items or 16 MiB for all;
  ///   `unavailable`, `accessDenied`, `noSpace`, `timedOut`, `corrupt`, `keyMissing`, `wrongKey` or
  ///   `io`, and nothing was changed; `exclusionLost`, and nothing was changed; `outcomeUnknown`
  ///   when no server said in time whether it made the changes.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    try apply(changes, under: Lease.held(in: self), until: database.deadline)
  }

  func apply(
    _ changes: [StoreChange], under leases: [Lease], until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    guard !changes.isEmpty else { return }
    _ = try make(changes, if: nil, under: leases, until: deadline)
  }

  /// Makes changes, all or none, if the stored item meets a condition; compares the bytes of its
  /// value.
  ///
  /// Takes one round trip more than ``apply(_:)``, unless the item was the last one that was read
  /// in the closure with exclusive access around it.
  package func asyncApply(
    _ changes: [StoreChange], if condition: ItemCondition
  ) async throws(StoreError) -> ChangeOutcome {
    let (leases, deadline) = (Lease.held(in: self), database.deadline)
    return try await writeThreads.blocking { () throws(StoreError) in
      try self.make(changes, if: condition, under: leases, until: deadline)
    }
  }

  private func make(
    _ changes: [StoreChange], if condition: ItemCondition?, under leases: [Lease],
    until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> ChangeOutcome {
    try ChangeLimits.check(changes, database: database.name)
    var change = try StoreWriter(changes, if: condition, under: leases, in: self, until: deadline)
    let outcome = try change.make()
    if case .made = outcome {
      poller.ring()
      sweeper.changeWasMade()
    }
    return outcome
  }
}
