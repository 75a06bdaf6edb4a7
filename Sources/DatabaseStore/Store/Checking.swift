public import SecretStores

extension SealedDatabaseStore {
  /// Reads the store's header on the connection by which exclusive access is renewed, for which no
  /// other call waits; for at most 5 s, so that renewals are not late.
  ///
  /// While the server refuses connections, another attempt is made until most of the time is over.
  ///
  /// - Throws: `timedOut`, or as ``value(for:)``.
  public func check(within timeout: Duration) throws(StoreError) {
    try check(until: Self.deadline(in: timeout))
  }

  /// Reads the store's header on the connection by which exclusive access is renewed.
  ///
  /// - Throws: As the blocking method.
  public func asyncCheck(within timeout: Duration) async throws(StoreError) {
    // The wait for a thread counts; those of reads may all wait for the server.
    let deadline = Self.deadline(in: timeout)
    try await leaseThreads.blocking { () throws(StoreError) in try self.check(until: deadline) }
  }

  private static func deadline(in timeout: Duration) -> ContinuousClock.Instant {
    .now + min(timeout, .seconds(5))
  }

  private func check(until deadline: ContinuousClock.Instant) throws(StoreError) {
    // The keys are not needed for it, but for everything else.
    try keys.use { (_) throws(StoreError) in
      _ = try keys.header(on: .renewals, until: deadline)
    }
  }
}

extension SealedDatabaseStore: PooledStore {
  package var connections: PooledConnections { database.connections }
}
