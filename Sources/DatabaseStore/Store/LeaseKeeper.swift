import Dispatch
import SealedStore
import SessionToolsBase

/// Takes leases, renews those that are held, and gives them back.
///
/// None of this waits for the server's disk: what it loses in a crash is noticed by the statement
/// that makes a change. Only the server's clock decides when a lease is over.
final class LeaseKeeper: Sendable {
  private let database: Database
  private let environment: DatabaseEnvironment
  private let take: DatabaseStatement
  private let renew: DatabaseStatement
  private let release: DatabaseStatement
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
    let lease = "\(database.statements.schema).lease"
    let end = "\(SQL.now) \(SQL.plus) \(SQL.microseconds("$4"))"
    let quickly = """
      WITH s AS MATERIALIZED (SELECT pg_catalog.set_config('synchronous_commit', 'off', true))
      """
    // A lease that lasts longer than a new one was made when the server's clock was ahead. It is
    // shortened: its holder renews it if it lives, and otherwise it must not last for hours.
    take = DatabaseStatement(
      name: "take",
      text: """
        \(quickly), t AS (
          INSERT INTO \(lease) AS l (place, tag, holder, until)
          SELECT $1, $2, $3, \(end) FROM s
          ON CONFLICT (place, tag) DO UPDATE SET
            holder = CASE
              WHEN l.until \(SQL.isAbove) excluded.until THEN l.holder
              ELSE excluded.holder
            END,
            until = excluded.until
          WHERE l.until \(SQL.isBelow) \(SQL.now) OR l.until \(SQL.isAbove) excluded.until
            OR l.holder \(SQL.equals) excluded.holder
          RETURNING l.holder
        )
        SELECT 1 FROM t WHERE holder \(SQL.equals) $3
        """)
    // A lease that a change has locked is skipped: one whose backend waits, for a foreign lock or a
    // standby, would keep all others from being renewed.
    renew = DatabaseStatement(
      name: "renew",
      text: """
        \(quickly), h AS MATERIALIZED (
          SELECT l.place, l.tag
          FROM \(lease) AS l
          JOIN \(SQL.rows(of: ["int2", "bytea", "bytea"], as: "m(place, tag, holder)"))
          ON \(SQL.same(["place", "tag", "holder"], "l.", "m."))
          FOR NO KEY UPDATE OF l SKIP LOCKED)
        UPDATE \(lease) AS l SET until = \(end)
        FROM s, h
        WHERE \(SQL.same(["place", "tag"], "l.", "h."))
        RETURNING l.holder
        """)
    release = DatabaseStatement(
      name: "release",
      text: """
        \(quickly)
        DELETE FROM \(lease) AS l USING s
        WHERE l.place \(SQL.equals) $1 AND l.tag \(SQL.equals) $2
          AND l.holder \(SQL.equals) $3
        """)
  }

  private var microseconds: Int64 { Int64(environment.leaseDuration / .microseconds(1)) }

  /// Asks for a lease once; returns whether it is held now.
  ///
  /// - Throws: As any read: then it was given back, in case that it was taken nevertheless.
  func take(
    _ lease: Lease, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> Bool {
    guard ContinuousClock.now < deadline else {
      // Nothing is sent, so there is nothing to give back.
      throw DatabaseFailure.timedOut.storeError(.read, store: database.name)
    }
    var parameters = Self.parameters(lease)
    parameters.append(microseconds)
    do throws(StoreError) {
      let start = ContinuousClock.now
      let answer = try database.read(take, parameters, until: deadline)
      guard answer.rowCount > 0 else { return false }
      lease.last(for: environment.leaseDuration, from: start)
    } catch {
      release(lease, until: releaseDeadline)
      throw error
    }
    state.withLock { $0.held[ObjectIdentifier(lease)] = lease }
    renewLater()
    return true
  }

  /// When a lease has to be given back that is no longer needed from now on.
  var releaseDeadline: ContinuousClock.Instant { min(database.deadline, .now + .seconds(1)) }

  /// Gives a lease back, if the server can be reached in time; otherwise it ends by itself.
  func release(_ lease: Lease, until deadline: ContinuousClock.Instant) {
    lease.finish()
    _ = state.withLock { $0.held.removeValue(forKey: ObjectIdentifier(lease)) }
    _ = try? database.read(release, Self.parameters(lease), until: deadline)
  }

  private static func parameters(_ lease: Lease) -> StatementParameters {
    var parameters = StatementParameters()
    parameters.append(lease.address.place.number)
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
    let answer = try database.read(renew, parameters, on: lane, until: deadline)
    let renewed = Set((0..<answer.rowCount).map { answer.bytes($0, 0) })
    for lease in leases where renewed.contains(lease.holder) {
      lease.last(for: environment.leaseDuration, from: start)
    }
  }
}
