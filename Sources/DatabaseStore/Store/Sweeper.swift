import Dispatch
package import SecretStores

/// Deletes the rows of items that were removed long ago, and the leases of processes that died,
/// once for all machines together.
///
/// Each process that changes items takes part. A note of a time and of the oldest transaction that
/// was under way then makes sure that a removal stays as long as it has to: what is deleted later
/// was done before that transaction.
final class Sweeper: Sendable {
  /// How long a removal stays at least.
  static let retention = Duration.seconds(3600)
  /// How long a row cannot have been deleted after it was read: less, because answers may be late
  /// and clocks differ.
  static let certainty = Duration.seconds(3000)

  private static let pageCount: Int64 = 1000
  /// What is more than ten million rows is left to the next sweep: a server that never says that it
  /// is done must not keep this process busy for ever.
  private static let maximumPageCount = 10_000

  private let database: Database
  private let environment: DatabaseEnvironment
  private let note: DatabaseStatement
  private let sweep: DatabaseStatement
  private let sweepLeases: DatabaseStatement
  private let state = Lock(State())
  /// Serial, so that it has its own thread however many others are blocked.
  private let queue = DispatchQueue(label: "session-tools.database.sweep")

  private struct State {
    var isAlarmSet = false
    var lastTime: ContinuousClock.Instant?
  }

  init(_ database: Database, _ environment: DatabaseEnvironment) {
    self.database = database
    self.environment = environment
    let schema = database.statements.schema
    let before = "(\(SQL.now) \(SQL.minus) \(SQL.microseconds("$1")))"
    let oldest = "pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())"
    // A note from the future is from another server, of which this one is a restored copy.
    note = DatabaseStatement(
      name: nil,
      text: """
        WITH t AS MATERIALIZED (
          SELECT \(SQL.now) AS at, \(oldest) AS xid
        ), foreign_notes AS (
          DELETE FROM \(schema).horizon h USING t
          WHERE h.at \(SQL.isAbove) t.at OR h.xid \(SQL.isAbove) t.xid
        )
        INSERT INTO \(schema).horizon (at, xid) SELECT at, xid FROM t WHERE NOT EXISTS (
          SELECT FROM \(schema).horizon h
          WHERE h.at \(SQL.isAbove) (t.at \(SQL.minus) \(SQL.microseconds("$1")))
            AND h.at \(SQL.isAtMost) t.at AND h.xid \(SQL.isAtMost) t.xid
        ) ON CONFLICT DO NOTHING RETURNING 1
        """)
    // The change of `swept` becomes visible together with the deletions: a cursor below it may have
    // missed one. A value from the future is from another server.
    sweep = DatabaseStatement(
      name: nil,
      text: """
        WITH h AS MATERIALIZED (
          SELECT at, xid FROM \(schema).horizon
          WHERE at \(SQL.isAtMost) \(before) ORDER BY at DESC LIMIT 1
        ), old AS MATERIALIZED (
          SELECT i.ns, i.shard, i.tag FROM \(schema).item i, h
          WHERE i.gone AND i.xid \(SQL.isBelow) h.xid
          ORDER BY i.xid LIMIT $2 FOR UPDATE OF i SKIP LOCKED
        ), deleted AS (
          DELETE FROM \(schema).item i USING old
          WHERE \(SQL.sameAddress("i.", "old.")) RETURNING 1
        ), noted AS (
          UPDATE \(schema).header SET swept = CASE
            WHEN swept \(SQL.isAbove) \(oldest) THEN h.xid
            ELSE greatest(swept, h.xid)
          END
          FROM h WHERE EXISTS (SELECT FROM old)
        ), unused AS (
          DELETE FROM \(schema).horizon n USING h WHERE n.at \(SQL.isBelow) h.at
        )
        SELECT pg_catalog.count(*) FROM deleted
        """)
    // A holder that stood still for so long finds its lease gone, as it would find another's.
    sweepLeases = DatabaseStatement(
      name: nil,
      text: """
        DELETE FROM \(schema).lease WHERE until \(SQL.isBelow) \(before)
        """)
  }

  /// Takes part from now on, because this process has changed items.
  ///
  /// Returns at once.
  func changeWasMade() {
    let wait = state.withLock { state -> Duration? in
      guard !state.isAlarmSet else { return nil }
      state.isAlarmSet = true
      let rest = state.lastTime.map { $0 + environment.sweepInterval - .now } ?? .zero
      return max(rest, environment.sweepDelay)
    }
    guard let wait else { return }
    queue.asyncAfter(deadline: .now() + wait.dispatchInterval) { [weak self] in
      guard let self else { return }
      // What could not be done now is done after one of the next changes, by any machine.
      _ = try? sweepIfDue()
      state.withLock { $0 = State(lastTime: .now) }
    }
  }

  /// Notes the time, and deletes what is old enough, unless another machine has done so less than
  /// five minutes ago; returns how many rows were deleted.
  func sweepIfDue() throws(StoreError) -> Int {
    var parameters = StatementParameters()
    parameters.append(Int64(environment.sweepInterval / .microseconds(1)))
    let isDue = try database.read(note, parameters, until: database.deadline).rowCount > 0
    return isDue ? try sweepAll() : 0
  }

  private func sweepAll() throws(StoreError) -> Int {
    let retention = Int64(environment.retention / .microseconds(1))
    var age = StatementParameters()
    age.append(retention)
    _ = try database.read(sweepLeases, age, until: database.deadline)
    var parameters = StatementParameters()
    parameters.append(retention)
    parameters.append(Self.pageCount)
    var total = 0
    for _ in 0..<Self.maximumPageCount {
      let answer = try database.read(sweep, parameters, until: database.deadline)
      guard let count = answer.integer(Int64.self, 0, 0), 0...Self.pageCount ~= count else { break }
      total += Int(count)
      guard count == Self.pageCount else { break }
    }
    return total
  }
}

extension SealedDatabaseStore {
  /// Deletes the rows of items that were removed more than an hour ago, unless any machine has done
  /// so in the last five minutes.
  ///
  /// Every process that changes items does this now and then.
  ///
  /// - Returns: How many rows were deleted.
  /// - Throws: `unavailable`, `accessDenied`, `timedOut` or `io`.
  @discardableResult
  package func sweep() throws(StoreError) -> Int { try sweeper.sweepIfDue() }
}
