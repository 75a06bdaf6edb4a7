import DatabaseStore
import Synchronization
import SessionToolsTestSupport

/// A transaction that is under way until a test ends it.
struct OpenTransaction {
  private let holder: DatabaseConnection
  private let task: Task<Void, any Error>
  private let number: Int64

  func end() async throws {
    try holder.run("SELECT pg_advisory_unlock(\(number))")
    try await task.value
  }

  /// Begins a transaction with a statement, which has been run when this returns.
  ///
  /// It then waits for a lock that another connection has.
  fileprivate init(
    _ statement: String, on connection: DatabaseConnection, _ holder: DatabaseConnection
  ) async throws {
    let number = Int64.random(in: 1...Int64(Int32.max))
    (self.number, self.holder) = (number, holder)
    try holder.run("SELECT pg_advisory_lock(\(number))")
    task = Task.detached {
      try await onThread {
        _ = try connection.run(
          """
          WITH held AS MATERIALIZED (\(statement)), counted AS MATERIALIZED (
            SELECT count(*) AS n FROM held
          ) SELECT pg_advisory_lock(\(number)) FROM counted WHERE n >= 0
          """)
      }
    }
    try await wait(until: "the transaction waits for the lock") {
      try holder.run(
        "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = \(number)"
      ).rowCount > 0
    }
  }
}

extension DatabaseConnection {
  /// Begins a transaction with a statement; the holder is a connection that is used for nothing
  /// else meanwhile.
  func hold(_ statement: String, _ holder: DatabaseConnection) async throws -> OpenTransaction {
    try await OpenTransaction(statement, on: self, holder)
  }
}
