import SecretStores
import Synchronization

/// The database of a store: its connections and statements.
///
/// Statements are sent again until they are answered or their time is up.
final class Database: Sendable {
  /// The store as a person would name it.
  let name: String
  let statements: StoreStatements
  let opening: ConnectionOpening
  private let timeout: Duration
  private let pool: ConnectionPool
  private let renewalPool: ConnectionPool
  private let onNotice: (@Sendable (DatabaseNotice) -> Void)?
  /// Those that are known to the owner, and those that were reported.
  private let reportedNotices: Mutex<Set<DatabaseNotice>>

  init(
    named name: String, _ statements: StoreStatements, _ opening: ConnectionOpening,
    _ options: SealedDatabaseStore.Options
  ) {
    self.name = name
    self.statements = statements
    self.opening = opening
    timeout = options.operationTimeout
    pool = ConnectionPool(opening, maximumCount: options.maximumConnectionCount)
    renewalPool = ConnectionPool(opening, maximumCount: 1)
    onNotice = options.onNotice
    reportedNotices = Mutex(options.knownNotices)
  }

  /// The connections that all callers share, now.
  var connections: PooledConnections { pool.connections }

  /// When an operation that begins now has to be over.
  var deadline: ContinuousClock.Instant { .now + timeout }

  /// When the last attempt may begin of what begins now and has to be over by a deadline: when a
  /// fifth of the time is left.
  ///
  /// Each attempt that is given up may leave a process of the server that waits for a lock or a
  /// standby, and does not notice that its connection is closed.
  func lastStart(until deadline: ContinuousClock.Instant) -> ContinuousClock.Instant {
    let now = ContinuousClock.now
    return deadline - max(.zero, deadline - now) / 5
  }

  /// The connections that a statement is sent on.
  enum Lane {
    /// Those that all callers share, and may wait for.
    case shared
    /// One for renewing leases, which end if that has to wait. When it is lost and cannot be opened
    /// again, they are renewed on the shared ones.
    case renewals
  }

  /// Sends a statement that changes no item, and waits for its answer.
  ///
  /// - Throws: As the failure of the last attempt.
  func read(
    _ statement: DatabaseStatement, _ parameters: StatementParameters = StatementParameters(),
    on lane: Lane = .shared, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> DatabaseAnswer {
    try repeating(.read, until: deadline) { () throws(DatabaseFailure) in
      try attempt(statement, parameters, as: .read, on: lane, until: deadline)
    }
  }

  /// Makes an attempt again until it succeeds, there is too little time for another one, or none
  /// would help.
  ///
  /// - Parameters:
  ///   - effect: The effect of the statement, for the error.
  ///   - deadline: When it has to be over.
  ///   - lastStart: When the last attempt may begin; by default for an operation that begins now.
  ///   - attempt: Makes the attempt.
  /// - Returns: The result of the attempt that succeeded.
  /// - Throws: As the failure of the last attempt.
  func repeating<Result>(
    _ effect: DatabaseStatement.Effect, until deadline: ContinuousClock.Instant,
    lastStart: ContinuousClock.Instant? = nil,
    _ attempt: () throws(DatabaseFailure) -> Result
  ) throws(StoreError) -> Result {
    let lastStart = lastStart ?? self.lastStart(until: deadline)
    var pause = RetryPause()
    while true {
      do throws(DatabaseFailure) {
        return try attempt()
      } catch {
        guard isRepeatable(error, until: deadline), pause.wait(until: lastStart) else {
          throw error.storeError(effect, store: name)
        }
      }
    }
  }

  /// Sends a statement once.
  ///
  /// It may take a little more than half of the time that is left, so that there is time to ask
  /// another server what became of it.
  func attempt(
    _ statement: DatabaseStatement, _ parameters: StatementParameters,
    as effect: DatabaseStatement.Effect, on lane: Lane = .shared,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseAnswer {
    let pool = lane == .shared ? pool : renewalPool
    guard ContinuousClock.now < deadline else { throw .timedOut }
    return try pool.withConnection(until: deadline) { connection throws(DatabaseFailure) in
      note(connection)
      // Of the time that is left now: the wait for a connection may have taken most of it.
      let start = ContinuousClock.now
      guard start < deadline else { throw .timedOut }
      do throws(DatabaseFailure) {
        return try connection.run(
          statement, parameters, as: effect, until: start + (deadline - start) * 0.6)
      } catch {
        switch error {
        // The server has become a standby: another connection finds the one that is not.
        case .server(.readOnly): connection.close()
        // The machine may be gone, and then it answers on no other connection.
        case .noAnswer(.deadline), .timedOut:
          opening.avoid(connection.endpoint)
          pool.closeIdle(unusedSince: start)
        default: break
        }
        throw error
      }
    }
  }

  /// Whether the same statement may be answered when it is sent again.
  private func isRepeatable(
    _ failure: DatabaseFailure, until deadline: ContinuousClock.Instant
  ) -> Bool {
    switch failure {
    case .timedOut: ContinuousClock.now < deadline
    case .server(.readOnly): true
    default: failure.isRepeatable
    }
  }

  /// Looks at what the server of a new connection said about itself.
  func note(_ connection: DatabaseConnection) {
    guard connection.isNew else { return }
    connection.isNew = false
    for notice in connection.server.settings.notices { report(notice) }
  }

  /// Passes a notice on, once.
  func report(_ notice: DatabaseNotice) {
    guard reportedNotices.withLock({ $0.insert(notice).inserted }) else { return }
    onNotice?(notice)
    StoreReport.report(.notice(store: name, "\(notice)"))
  }
}
