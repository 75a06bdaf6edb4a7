import SealedStore
import SecretStores

/// One look at what was changed since another one.
///
/// Rows are found by the number of the transaction that changed them. Of a transaction with a
/// number below the oldest one that is under way, everything can be read; nothing else is looked
/// at, because transactions do not end in the order of their numbers.
struct ChangePoll {
  /// Where a look ended, and the server that it was at.
  struct Cursor: Equatable {
    /// The oldest transaction that was under way: all below are known.
    var transaction: UInt64
    let system: Int64
    let startTime: Int64
    /// The table of the header, which is another one after a restore.
    let table: Int64
    /// The newest transaction whose removals are deleted.
    let swept: UInt64

    /// Whether this cursor is of the same history as an earlier one, and nothing between the two
    /// was deleted.
    func continues(_ last: Cursor) -> Bool {
      system == last.system && startTime == last.startTime && table == last.table
        && transaction >= last.transaction && (swept == last.swept || swept <= last.transaction)
    }
  }

  let cursor: Cursor
  /// Whether transactions were under way, whose changes a later look will find.
  let isBehind: Bool
  /// The rows that were changed; `nil` when they are not known, or too many.
  let rows: [SealedRow]?

  private static let maximumCount = DatabaseFormat.pageCount

  static func statement(_ schema: String) -> DatabaseStatement {
    let read = ReadColumns(of: "i.")
    return DatabaseStatement(
      name: "poll",
      text: """
        WITH t AS MATERIALIZED (
          SELECT pg_catalog.pg_snapshot_xmin(s) AS top, pg_catalog.pg_snapshot_xmax(s) AS next
          FROM pg_catalog.pg_current_snapshot() AS s
        )
        SELECT \(read.ns), i.shard, \(read.tag), i.version, i.epoch, i.gone, \(read.write),
          \(read.nonce), \(read.name),
          t.top, t.next, h.swept, c.system_identifier,
          \(SQL.epoch(of: "pg_catalog.pg_postmaster_start_time()", in: 1_000_000)),
          h.tableoid::pg_catalog.int8
        FROM t CROSS JOIN \(schema).header h CROSS JOIN pg_catalog.pg_control_system() c
        LEFT JOIN (
          SELECT * FROM \(schema).item
          WHERE xid \(SQL.isAtLeast) $1 AND xid \(SQL.isBelow) (SELECT top FROM t)
          ORDER BY xid LIMIT \(maximumCount + 1)
        ) i ON true
        ORDER BY i.xid
        """, rowsByteCount: (maximumCount + 1) * (ReadColumns.maximumNamedRowByteCount + 80))
  }

  /// Looks for changes.
  ///
  /// Fails when what was returned is no answer to the statement.
  ///
  /// - Parameters:
  ///   - last: Where the last look ended; `nil` for the first.
  ///   - statement: The statement, for the schema.
  ///   - connection: A connection that no one else uses.
  ///   - deadline: When the answer has to be there.
  /// - Throws: As any statement.
  init?(
    since last: Cursor?, _ statement: DatabaseStatement, on connection: DatabaseConnection,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) {
    var parameters = StatementParameters()
    parameters.append(transaction: last?.transaction ?? .max)
    let answer = try connection.run(statement, parameters, as: .read, until: deadline)
    guard let top = answer.integer(UInt64.self, 0, 9),
      let next = answer.integer(UInt64.self, 0, 10),
      let swept = answer.integer(UInt64.self, 0, 11),
      let system = answer.integer(Int64.self, 0, 12),
      let startTime = answer.integer(Int64.self, 0, 13),
      let table = answer.integer(Int64.self, 0, 14)
    else { return nil }
    cursor = Cursor(
      transaction: top, system: system, startTime: startTime, table: table, swept: swept)
    isBehind = top < next
    guard let last, cursor.continues(last), answer.rowCount <= Self.maximumCount else {
      rows = nil
      return
    }
    guard answer.isPresent(0, 0) else {
      rows = []
      return
    }
    let found = (0..<answer.rowCount).map { number in
      answer.address(number).flatMap {
        answer.sealedRow(number, from: 3, at: $0, .name)
      }
    }
    rows = found.contains(nil) ? nil : found.compactMap(\.self)
  }
}
