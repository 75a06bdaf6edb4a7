package import SecretStores

/// Looks at a database and at a store in it, without a key.
///
/// It changes nothing. What it may not look at is an error of that question alone.
package final class DatabaseInspector {
  package let location: DatabaseLocation
  private let connection: DatabaseConnection
  private let database: Database
  /// The name of the schema, and the same in quotes.
  private let (schema, quotedSchema): (String, String)

  /// Connects.
  ///
  /// - Throws: As opening a store does before it looks for one.
  package init(_ address: String, _ options: SealedDatabaseStore.Options) throws(StoreError) {
    location = try DatabaseLocation(address, options)
    schema = options.schema
    connection = try location.connect(until: .now + options.operationTimeout)
    do throws(DatabaseFailure) {
      quotedSchema = try connection.quoted(schema)
    } catch {
      throw error.storeError(.read, store: location.name)
    }
    database = Database(
      named: location.name, StoreStatements(schema: quotedSchema), location.opening, options)
  }

  deinit {
    connection.close()
  }

  /// What the server said when the connection was opened.
  package var server: ServerState { connection.server }
  package var usesTLS: Bool { connection.usesTLS }
  /// Where that server is, of those that the address names.
  package var endpoint: DatabaseEndpoint { connection.endpoint }

  // MARK: - Questions

  /// Returns whether a pooler is between this process and the server: the number of the server's
  /// process is another one than it was said to be.
  package func isBehindPooler() throws(StoreError) -> Bool {
    let answer = try ask("SELECT pg_catalog.pg_backend_pid()")
    return answer.integer(Int32.self, 0, 0) != connection.serverProcess
  }

  /// Reads the header.
  ///
  /// - Throws: `corrupt`, `unsupportedVersion`, or as any statement.
  package func header() throws(StoreError) -> DatabaseHeader {
    try database.header(until: database.deadline).header
  }

  /// Returns who connects, and what that user and others may do.
  package func rights() throws(StoreError) -> DatabaseRights {
    var parameters = StatementParameters()
    parameters.append(schema)
    let tables = try ask(
      """
      SELECT p.name, p.privilege, pg_catalog.has_table_privilege(c.oid, p.privilege)
      FROM (VALUES
        (1, 'header'::pg_catalog.text, 'SELECT'::pg_catalog.text), (2, 'header', 'UPDATE'),
        (3, 'item', 'SELECT'), (4, 'item', 'INSERT'), (5, 'item', 'UPDATE'), (6, 'item', 'DELETE'),
        (7, 'lease', 'SELECT'), (8, 'lease', 'INSERT'), (9, 'lease', 'UPDATE'),
        (10, 'lease', 'DELETE'), (11, 'horizon', 'SELECT'), (12, 'horizon', 'INSERT'),
        (13, 'horizon', 'UPDATE'), (14, 'horizon', 'DELETE')
      ) AS p(n, name, privilege)
      LEFT JOIN (
        pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s
        ON s.oid \(SQL.equals) c.relnamespace AND s.nspname \(SQL.equals) $1
      ) ON c.relname \(SQL.equals) p.name
      ORDER BY p.n
      """, parameters)
    let user = try ask(
      """
      SELECT rolname::pg_catalog.text, rolsuper, (
        SELECT pg_catalog.has_schema_privilege(oid, 'USAGE') FROM pg_catalog.pg_namespace
        WHERE nspname \(SQL.equals) $1
      ) FROM pg_catalog.pg_roles WHERE rolname \(SQL.equals) current_user
      """, parameters)
    let others = try ask(
      """
      SELECT DISTINCT coalesce(g.rolname, 'PUBLIC')::pg_catalog.text
      FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace s ON s.oid \(SQL.equals) c.relnamespace
      CROSS JOIN pg_catalog.aclexplode(c.relacl) a
      LEFT JOIN pg_catalog.pg_roles g ON g.oid \(SQL.equals) a.grantee
      WHERE s.nspname \(SQL.equals) $1 AND a.grantee \(SQL.differs) c.relowner
        AND coalesce(g.rolname, '') \(SQL.differs) ALL (
          ARRAY[$1 \(SQL.concatenated) '_application', $1 \(SQL.concatenated) '_auditor']
        )
      ORDER BY 1
      """, parameters)
    let members = try ask(
      """
      SELECT m.rolname::pg_catalog.text FROM pg_catalog.pg_auth_members a
      JOIN pg_catalog.pg_roles r ON r.oid \(SQL.equals) a.roleid
      JOIN pg_catalog.pg_roles m ON m.oid \(SQL.equals) a.member
      WHERE r.rolname \(SQL.equals) ($1 \(SQL.concatenated) '_application') ORDER BY 1
      """, parameters)
    return DatabaseRights(
      user: user.text(0, 0) ?? "", isSuperuser: user.bool(0, 1) ?? false,
      mayUseSchema: user.bool(0, 2),
      tables: (0..<tables.rowCount).map { number in
        DatabaseRights.Table(
          name: tables.text(number, 0) ?? "", privilege: tables.text(number, 1) ?? "",
          isGranted: tables.bool(number, 2))
      },
      members: (0..<members.rowCount).compactMap { members.text($0, 0) },
      others: (0..<others.rowCount).compactMap { others.text($0, 0) })
  }

  /// Returns how many connections the server allows, and how many there are.
  package func connections() throws(StoreError) -> ConnectionCounts {
    let answer = try ask(
      """
      SELECT pg_catalog.current_setting('max_connections')::pg_catalog.int8
          \(SQL.minus) pg_catalog.current_setting('superuser_reserved_connections')
            ::pg_catalog.int8
          \(SQL.minus) coalesce(
            pg_catalog.current_setting('reserved_connections', true)::pg_catalog.int8, 0),
        (
          SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity
          WHERE backend_type \(SQL.equals) 'client backend'
        ),
        d.datconnlimit::pg_catalog.int8, r.rolconnlimit::pg_catalog.int8
      FROM pg_catalog.pg_database d, pg_catalog.pg_roles r
      WHERE d.datname \(SQL.equals) pg_catalog.current_database()
        AND r.rolname \(SQL.equals) current_user
      """)
    let server = Int(answer.integer(Int64.self, 0, 0) ?? 0)
    // -1 stands for no limit.
    let others = [2, 3].compactMap { answer.integer(Int64.self, 0, $0) }.filter { $0 >= 0 }
    return ConnectionCounts(
      allowed: others.reduce(server) { min($0, Int($1)) },
      used: Int(answer.integer(Int64.self, 0, 1) ?? 0))
  }

  /// Returns the transaction that was first to write of those that are open; `nil` if none is.
  ///
  /// Changes by anyone that were made after it began are not told to listeners.
  package func oldestTransaction() throws(StoreError) -> OpenTransaction? {
    let answer = try ask(
      """
      SELECT * FROM (
        SELECT backend_xid AS xid, pid::pg_catalog.text AS process,
          usename::pg_catalog.text AS person, \(age("xact_start")) AS age
        FROM pg_catalog.pg_stat_activity WHERE backend_xid IS NOT NULL
        UNION ALL
        SELECT transaction, NULL, owner::pg_catalog.text, \(age("prepared"))
        FROM pg_catalog.pg_prepared_xacts
      ) AS t ORDER BY pg_catalog.age(xid) DESC LIMIT 1
      """)
    guard answer.rowCount > 0 else { return nil }
    return OpenTransaction(
      process: answer.text(0, 1), user: answer.text(0, 2) ?? "unknown",
      age: answer.integer(Int64.self, 0, 3).map { .milliseconds($0) })
  }

  /// Counts rows: all of a small table, and in a part of a large one.
  package func contents() throws(StoreError) -> TableContents {
    var parameters = StatementParameters()
    parameters.append(schema)
    let sizes = try ask(
      """
      SELECT pg_catalog.pg_relation_size(c.oid), pg_catalog.pg_total_relation_size(c.oid)
      FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace s ON s.oid \(SQL.equals) c.relnamespace
      WHERE s.nspname \(SQL.equals) $1 AND c.relname \(SQL.equals) 'item'
      """, parameters)
    let readByteCount: Int64 = 64 << 20
    let rowByteCount = sizes.integer(Int64.self, 0, 0) ?? 0
    // In thousandths of a percent, with which a part of a terabyte can be named.
    let whole: Int64 = 100_000
    let part = rowByteCount > readByteCount ? max(1, whole * readByteCount / rowByteCount) : whole
    var sample = StatementParameters()
    sample.append(part)
    sample.append(Int64(TableContents.maximumRemovalCount))
    let counts = try ask(
      """
      SELECT pg_catalog.count(*) FILTER (WHERE NOT gone),
        (
          SELECT pg_catalog.count(*)
          FROM (SELECT FROM \(quotedSchema).item WHERE gone LIMIT $2) AS g
        ),
        (SELECT \(age("pg_catalog.max(at)")) FROM \(quotedSchema).horizon)
      FROM \(quotedSchema).item TABLESAMPLE pg_catalog.system ($1 \(SQL.dividedBy) 1000.0)
      """, sample)
    // No table has more than this, whatever the server says.
    let countedCount = min(max(0, counts.integer(Int64.self, 0, 0) ?? 0), Int64.max / whole)
    let itemCount = countedCount * whole / part
    return TableContents(
      itemCount: Int(itemCount), isEstimate: part < whole,
      removalCount: Int(counts.integer(Int64.self, 0, 1) ?? 0),
      sweepAge: counts.integer(Int64.self, 0, 2).map { .milliseconds($0) },
      byteCount: Int(sizes.integer(Int64.self, 0, 1) ?? 0))
  }

  /// The time since a time, in milliseconds.
  private func age(_ time: String) -> String {
    SQL.epoch(of: "\(SQL.now) \(SQL.minus) \(time)", in: 1000)
  }

  // MARK: - Asking

  private func ask(
    _ text: String, _ parameters: StatementParameters = StatementParameters()
  ) throws(StoreError) -> DatabaseAnswer {
    do throws(DatabaseFailure) {
      return try connection.run(
        DatabaseStatement(name: nil, text: text), parameters, as: .read, until: database.deadline)
    } catch {
      throw error.storeError(.read, store: location.name)
    }
  }
}

/// Who may do what in the schema of a store.
package struct DatabaseRights: Sendable {
  /// A right that programs need on a table.
  package struct Table: Sendable {
    package let name: String
    package let privilege: String
    /// `nil` when there is no such table.
    package let isGranted: Bool?
  }

  /// The user that this process connects as.
  package let user: String
  package let isSuperuser: Bool
  /// `nil` when there is no schema.
  package let mayUseSchema: Bool?
  package let tables: [Table]
  /// The users that may do what programs do.
  package let members: [String]
  /// Who has rights on the tables besides the three roles; `PUBLIC` is everyone.
  package let others: [String]
}

/// The number of connections to a server.
package struct ConnectionCounts: Sendable {
  /// The most that there may be, of users like this one.
  package let allowed: Int
  /// All that there are.
  package let used: Int
}

/// A transaction that has written and not ended.
package struct OpenTransaction: Sendable {
  /// The number of the server's process; `nil` of a prepared transaction, which has none.
  package let process: String?
  package let user: String
  /// How long it has been open; `nil` when this user may not know.
  package let age: Duration?
}

/// What is in a store's table.
package struct TableContents: Sendable {
  /// More removed items than these are not counted.
  package static let maximumRemovalCount = 100_000

  package let itemCount: Int
  /// Whether items were counted in a part of the table only.
  package let isEstimate: Bool
  /// The number of removed items that have not been deleted.
  package let removalCount: Int
  /// How long ago a process last swept; `nil` when none has.
  package let sweepAge: Duration?
  /// The size of the table with its indexes and large values.
  package let byteCount: Int
}
