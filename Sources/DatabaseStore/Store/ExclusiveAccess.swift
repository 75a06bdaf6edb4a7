import Foundation
import SealedStore
public import SecretStores

extension SealedDatabaseStore {
  /// Runs a closure while no other task, thread, process or machine has exclusive access to the
  /// name.
  ///
  /// Blocks the thread while it waits; processes get a name in no particular order. The access is
  /// renewed while the closure runs. When it could not be renewed for 30 seconds, others may get
  /// the name; then every change that the closure makes throws `exclusionLost`, and nothing is
  /// changed.
  ///
  /// - Throws: `locked`, `timedOut`, an error of the connection as for ``value(for:)``, or what the
  ///   closure throws.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    let deadline = ContinuousClock.now + timeout
    let lease = try lease(on: name)
    try nameLocks.lock(name, timeout: timeout)
    defer { nameLocks.unlock(name) }
    var pause = RetryPause()
    while try !leases.take(lease, until: database.deadline) {
      guard pause.wait(until: deadline) else { throw isHeld }
    }
    defer { leases.release(lease, until: leases.releaseDeadline) }
    return try Lease.$all.withValue(Lease.all + [lease]) { try body() }
  }

  /// Runs a closure while no other task, thread, process or machine has exclusive access to the
  /// name.
  ///
  /// As the blocking method, but suspends the task while it waits.
  ///
  /// - Throws: As the blocking method, or `cancelled` when the task was cancelled while it waited.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await withLease(on: name, timeout: timeout) { lease, deadline throws(StoreError) in
      try self.leases.take(lease, until: deadline) ? () : nil
    } _: {
      try await body()
    }
  }

  /// Runs a closure with what is read when a lease is taken, and gives the lease back after that.
  ///
  /// `take` asks for the lease once, and throws only without it; it returns `nil` when someone else
  /// holds the lease.
  private func withLease<Read: Sendable, Result>(
    on name: ItemName, timeout: Duration,
    taking take: @Sendable @escaping (Lease, ContinuousClock.Instant) throws(StoreError) -> Read?,
    _ body: (Read) async throws -> Result
  ) async throws -> Result {
    let deadline = ContinuousClock.now + timeout
    let lease = try lease(on: name)
    try await nameLocks.lock(name, timeout: timeout)
    defer { nameLocks.unlock(name) }
    let read = try await wait(for: lease, until: deadline, take)
    do {
      let result = try await Lease.$all.withValue(Lease.all + [lease]) { try await body(read) }
      await release(lease)
      return result
    } catch {
      await release(lease)
      throw error
    }
  }

  private func wait<Read: Sendable>(
    for lease: Lease, until deadline: ContinuousClock.Instant,
    _ take: @Sendable @escaping (Lease, ContinuousClock.Instant) throws(StoreError) -> Read?
  ) async throws(StoreError) -> Read {
    var pause = RetryPause()
    while true {
      // The wait for a thread counts.
      let end = database.deadline
      let read = try await writeThreads.blocking { () throws(StoreError) in try take(lease, end) }
      if let read { return read }
      guard let pause = pause.next(until: deadline) else { throw isHeld }
      do {
        try await Task.sleep(for: pause)
      } catch {
        throw StoreError(
          .cancelled, store: database.name,
          reason: "the task was cancelled while it waited for exclusive access to a name")
      }
    }
  }

  private func release(_ lease: Lease) async {
    // On the other threads it could wait for the changes of those who wait for this name.
    let deadline = leases.releaseDeadline
    await leaseThreads.blocking { self.leases.release(lease, until: deadline) }
  }

  private func lease(on name: ItemName) throws(StoreError) -> Lease {
    let address = try keys.use { $0.leaseAddress(of: name) }
    return Lease(
      store: keys.store, address: address, holder: environment.random.bytes16().bytes)
  }

  var exclusionLost: StoreError {
    StoreError(
      .exclusionLost, store: database.name,
      reason: "exclusive access ended before its closure did, and nothing was changed",
      remedy: "Read the items again, and repeat the work")
  }

  private var isHeld: StoreError {
    StoreError(
      .timedOut, store: database.name,
      reason: "exclusive access to a name was not available in time")
  }
}

extension SealedDatabaseStore: LeasingStore {
  /// Runs a closure while no one else has exclusive access to the name, with an item as the last
  /// holder of the access left it, or the error of reading it.
  ///
  /// Takes no round trip more than without the item, unless it was put while this waited.
  ///
  /// - Throws: As without the item.
  package func withExclusiveAccess<Value>(
    to name: ItemName, timeout: Duration, reading item: ItemName,
    _ body: (Result<SecretBytes?, StoreError>) async throws -> Value
  ) async throws -> Value {
    try await withLease(on: name, timeout: timeout) { lease, deadline throws(StoreError) in
      try self.take(lease, reading: item, until: deadline)
    } _: { found in
      try await body(found)
    }
  }

  /// Asks for a lease once, and reads an item; returns `nil` when someone else holds the lease.
  private func take(
    _ lease: Lease, reading item: ItemName, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> Result<SecretBytes?, StoreError>? {
    let address = try keys.use { $0.address(of: item) }
    let known = versions[address]
    guard let answer = try leases.take(lease, reading: address, until: deadline) else { return nil }
    return Result { () throws(StoreError) in
      let found = try stored(item, in: answer, at: address, since: known, until: deadline)
      found?.note(under: lease)
      return found?.value
    }
  }

  /// Opens the row of an item that came with a lease.
  private func stored(
    _ name: ItemName, in answer: DatabaseAnswer, at address: RowAddress,
    since known: SeenVersions.Seen?, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> StoredItem? {
    // It may have been added after the statement began.
    guard answer.isPresent(0, 1) else { return try stored(name, until: deadline) }
    let row = try row(of: name, .value, in: answer, from: 1, at: address, since: known)
    do throws(StoreError) {
      return try opened(row, of: name)
    } catch let error where error.code == .keyMissing {
      // This reads the newer header, too.
      return try stored(name, until: deadline)
    }
  }

  /// Makes sure that the exclusive access around the caller lasts for a third of its duration yet.
  ///
  /// - Throws: `exclusionLost`, or as any read.
  package func confirmExclusion() async throws(StoreError) {
    let leases = Lease.held(in: self)
    let third = environment.leaseDuration / 3
    guard leases.contains(where: { $0.rest < third }) else { return }
    let deadline = database.deadline
    try await writeThreads.blocking { () throws(StoreError) in
      try self.leases.renew(leases, until: deadline)
    }
    guard leases.allSatisfy({ $0.rest >= third }) else { throw exclusionLost }
  }

  /// Returns when less than a sixth of the duration is left of the exclusive access around the
  /// caller, because it could not be renewed.
  ///
  /// - Returns: `false` when the task was cancelled, or the process stood still until the access
  ///   was over: others may have done by then what they must not do twice.
  package func isLosingExclusion() async -> Bool {
    let held = Lease.held(in: self)
    let sixth = environment.leaseDuration / 6
    while let rest = held.map(\.rest).min(), rest > .zero {
      do { try await Task.sleep(for: max(rest - sixth, .zero)) } catch { return false }
      guard let rest = held.map(\.rest).min(), rest > .zero else { return false }
      if rest > sixth { continue }
      let deadline = ContinuousClock.now + rest / 2
      await leaseThreads.blocking { try? self.leases.renew(held, until: deadline) }
      if held.contains(where: { $0.rest <= sixth }) { return !Task.isCancelled }
    }
    return false
  }
}
