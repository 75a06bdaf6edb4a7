import Dispatch
import SealedStore
import SecretStores

/// Takes leases, renews those that are held, and gives them back.
///
/// Only the server's clock decides when a lease is over.
final class LeaseKeeper: Sendable {
  private let database: Database
  private let environment: DatabaseEnvironment
  private let statements: LeaseStatements
  private let state = Lock(State())
  /// Serial, so that it has its own thread however many others are blocked.
  private let queue = DispatchQueue(label: "session-tools.database.leases")

  private struct State {
    var held: [ObjectIdentifier: Lease] = [:]
    var isAlarmSet = false
  }

  init(_ database: Database, _ environment: DatabaseEnvironment) {
    self.database = database
    self.environment = environment
    statements = LeaseStatements(schema: database.statements.schema)
  }

  private var microseconds: Int64 { Int64(environment.leaseDuration / .microseconds(1)) }

  /// Asks for a lease once; returns whether it is held now.
  ///
  /// - Throws: As any read: then it was given back, in case that it was taken nevertheless.
  func take(
    _ lease: Lease, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> Bool {
    try take(lease, statements.take, durationAndHolder(of: lease), until: deadline) != nil
  }

  /// Asks for a lease once, and reads the row at an address.
  ///
  /// - Returns: The answer, with the row from its column 1 on, or NULL in place of it; `nil` when
  ///   the lease is not held.
  /// - Throws: As ``take(_:until:)``.
  func take(
    _ lease: Lease, reading address: RowAddress, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> DatabaseAnswer? {
    var parameters = durationAndHolder(of: lease)
    parameters.append(address)
    return try take(lease, statements.takeReading, parameters, until: deadline)
  }

  private func durationAndHolder(of lease: Lease) -> StatementParameters {
    var parameters = Self.parameters(lease)
    parameters.append(microseconds)
    return parameters
  }

  private func take(
    _ lease: Lease, _ statement: DatabaseStatement, _ parameters: StatementParameters,
    until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> DatabaseAnswer? {
    guard ContinuousClock.now < deadline else {
      // Nothing is sent, so there is nothing to give back.
      throw DatabaseFailure.timedOut.storeError(.read, store: database.name)
    }
    let answer: DatabaseAnswer
    do throws(StoreError) {
      let start = ContinuousClock.now
      // It is sent as a change, whose commit must not be broken off while it waits for a standby,
      // and again without an answer: the same holder may take it twice. An error is that of a read,
      // because no item may have been changed.
      answer = try database.repeating(.read, until: deadline) { () throws(DatabaseFailure) in
        try database.attempt(statement, parameters, as: .write, until: deadline)
      }
      guard answer.bool(0, 0) == true else { return nil }
      lease.last(for: environment.leaseDuration, from: start)
    } catch {
      release(lease, until: releaseDeadline)
      throw error
    }
    state.withLock { $0.held[ObjectIdentifier(lease)] = lease }
    renewLater()
    return answer
  }

  /// When a lease has to be given back that is no longer needed from now on.
  var releaseDeadline: ContinuousClock.Instant { min(database.deadline, .now + .seconds(1)) }

  /// Gives a lease back, if the server can be reached in time; otherwise it ends by itself.
  func release(_ lease: Lease, until deadline: ContinuousClock.Instant) {
    lease.finish()
    _ = state.withLock { $0.held.removeValue(forKey: ObjectIdentifier(lease)) }
    _ = try? database.read(statements.release, Self.parameters(lease), until: deadline)
  }

  private static func parameters(_ lease: Lease) -> StatementParameters {
    var parameters = StatementParameters()
    parameters.append(lease.address.shard.number)
    parameters.append(lease.address.tag.bytes)
    parameters.append(lease.holder)
    return parameters
  }

  // MARK: - Renewing

  /// Sets the alarm for renewing all leases, unless it is set.
  private func renewLater() {
    guard environment.renewsLeases else { return }
    let isNeeded = state.withLock { state in
      guard !state.isAlarmSet, !state.held.isEmpty else { return false }
      state.isAlarmSet = true
      return true
    }
    guard isNeeded else { return }
    queue.asyncAfter(deadline: .now() + third.dispatchInterval) { [weak self] in
      self?.renewAll()
    }
  }

  private var third: Duration { environment.leaseDuration / 3 }

  private func renewAll() {
    let leases = state.withLock { state in
      state.isAlarmSet = false
      return Array(state.held.values)
    }
    renewLater()
    guard !leases.isEmpty else { return }
    // A lease that could not be renewed is noticed by the next change under it.
    try? renew(leases, until: .now + third)
    let missed = leases.filter { !$0.isEnded && $0.rest < third * 2 }
    guard !missed.isEmpty else { return }
    // A change had it locked, which seldom lasts.
    queue.asyncAfter(deadline: .now() + (third / 5).dispatchInterval) { [weak self, third] in
      try? self?.renew(missed, until: .now + third / 5)
    }
  }

  /// Renews leases that are still there, whether or not they are over, unless a change has them
  /// locked at this moment.
  ///
  /// It has a connection of its own, for when others keep all shared ones busy. If that has no
  /// answer in a sixth of the leases' time, for example because the server takes no further
  /// connection, the shared ones are used for the rest of the time.
  ///
  /// - Throws: As any read.
  func renew(_ leases: [Lease], until deadline: ContinuousClock.Instant) throws(StoreError) {
    let now = ContinuousClock.now
    let ownEnd = now + min((deadline - now) / 2, environment.leaseDuration / 6)
    do throws(StoreError) {
      try renew(leases, on: .renewals, until: ownEnd)
    } catch {
      guard ContinuousClock.now < deadline else { throw error }
      try renew(leases, on: .shared, until: deadline)
    }
  }

  private func renew(
    _ leases: [Lease], on lane: Database.Lane, until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    var parameters = StatementParameters()
    parameters.append(leases)
    parameters.append(microseconds)
    let start = ContinuousClock.now
    let answer = try database.read(statements.renew, parameters, on: lane, until: deadline)
    let renewed = Set((0..<answer.rowCount).map { answer.bytes($0, 0) })
    for lease in leases where renewed.contains(lease.holder) {
      lease.last(for: environment.leaseDuration, from: start)
    }
  }
}
