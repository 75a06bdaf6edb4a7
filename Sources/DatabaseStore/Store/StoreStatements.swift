import SealedStore

/// The statements of a store, with the name of its schema.
struct StoreStatements: Sendable {
  /// `schema` in quotes, as `PQescapeIdentifier` makes them.
  let schema: String

  /// Reads the header.
  let header: DatabaseStatement
  /// Replaces the header if it has the number that is expected.
  let replaceHeader: DatabaseStatement
  /// Makes the commits before it as durable as a change of the header.
  let confirmHeader: DatabaseStatement
  /// Reads the row of an item, with its value.
  let value: DatabaseStatement
  /// Reads the row of an item, with its name.
  let name: DatabaseStatement
  /// Reads the rows of some items, with their names.
  let names: DatabaseStatement
  /// Reads the rows of some items, with the values of the first few megabytes.
  let values: DatabaseStatement
  /// Reads the rows of a range of namespaces, with their names.
  let page: DatabaseStatement
  /// Looks at the versions of some rows, and at all that a change of them depends on.
  let inspect: DatabaseStatement
  /// Changes some rows if all of them have the versions that are expected.
  let write: DatabaseStatement
  /// Changes one row that is there, as ``write`` does.
  let replace: DatabaseStatement
  /// Adds one row, as ``write`` does.
  let add: DatabaseStatement
  /// Finds the data keys of the rows that follow an address, without reading the rows.
  let scan: DatabaseStatement
  /// Counts the rows.
  let count: DatabaseStatement
  /// Reads some rows as a whole.
  let rows: DatabaseStatement
  /// Replaces what is sealed in some rows, except in those that were changed meanwhile.
  let reseal: DatabaseStatement
  /// Finds the transactions that are changing items.
  let changesUnderWay: DatabaseStatement
  /// Makes the commits before it as durable as a change.
  let confirm: DatabaseStatement

  init(schema: String) {
    self.schema = schema
    header = DatabaseStatement(
      name: "header",
      text: "SELECT format, number, least_epoch, \(ReadColumns().header) FROM \(schema).header",
      rowsByteCount: DatabaseHeader.maximumByteCount)
    replaceHeader = DatabaseStatement(
      name: nil,
      text: """
        UPDATE \(schema).header SET number = $2, least_epoch = $3, bytes = $4
        WHERE number \(SQL.equals) $1 RETURNING 1
        """)
    confirmHeader = DatabaseStatement(
      name: nil,
      text: "UPDATE \(schema).header SET number = number WHERE number \(SQL.equals) $1")
    value = DatabaseStatement(
      name: "value", text: Self.row(of: ReadColumns().value, schema),
      rowsByteCount: RowOpener.maximumValueByteCount)
    name = DatabaseStatement(name: "name", text: Self.row(of: ReadColumns().name, schema))
    names = DatabaseStatement(
      name: "names", text: Self.names(schema),
      rowsByteCount: DatabaseFormat.pageCount * ReadColumns.maximumNamedRowByteCount)
    values = DatabaseStatement(
      name: "values", text: Self.values(schema),
      rowsByteCount: SealedDatabaseStore.excerptByteCount + RowOpener.maximumValueByteCount)
    page = DatabaseStatement(
      name: "page", text: Self.page(schema),
      rowsByteCount: DatabaseFormat.pageCount * ReadColumns.maximumNamedRowByteCount)
    inspect = DatabaseStatement(name: "look", text: Self.inspect(schema))
    write = DatabaseStatement(name: "write", text: Self.write(schema))
    replace = DatabaseStatement(name: "replace", text: Self.replace(schema))
    add = DatabaseStatement(name: "add", text: Self.add(schema))
    scan = DatabaseStatement(name: "scan", text: Self.scan(schema))
    count = DatabaseStatement(name: nil, text: Self.count(schema))
    rows = DatabaseStatement(
      name: "rows", text: Self.rows(schema), rowsByteCount: 12 << 20)
    reseal = DatabaseStatement(name: "reseal", text: Self.reseal(schema))
    changesUnderWay = DatabaseStatement(name: nil, text: Self.changesUnderWay(schema))
    confirm = DatabaseStatement(
      name: "confirm",
      text: """
        UPDATE \(schema).item SET write = write
        WHERE \(SQL.hasAddress()) AND write \(SQL.equals) $4
        """)
  }

  // MARK: - Parts

  private static let addressTypes = ["bytea", "int2", "bytea"]

  /// The addresses in `$1` to `$3`, as rows `u`.
  private static let numberedAddresses = SQL.rows(
    of: addressTypes, as: "u(ns, shard, tag, n)", isNumbered: true)

  /// The version that a new row must be above: ten minutes ago, in microseconds.
  private static let oldestNewVersion =
    "((extract(epoch FROM \(SQL.now)) \(SQL.minus) 600) \(SQL.times) 1000000)"

  /// The end of a header `h`.
  private static let mac = """
    substring(h.bytes
      FROM pg_catalog.octet_length(h.bytes) \(SQL.minus) \(DatabaseHeader.macByteCount - 1))
    """

  /// Whether the header is the one that a writer has its data key from.
  ///
  /// Another one may have another key under the same number, where the database was restored, and
  /// no one could open what is sealed with this one.
  private static func hasHeader(_ schema: String, epoch: Int, mac number: Int) -> String {
    """
    EXISTS (
      SELECT FROM \(schema).header h
      WHERE h.least_epoch \(SQL.isAtMost) $\(epoch) AND \(mac) \(SQL.equals) $\(number)
    )
    """
  }

  /// The leases `l` that are held of those in three parameters.
  private static func heldLeases(_ schema: String, from first: Int) -> String {
    let named = SQL.rows(
      of: ["int2", "bytea", "bytea"], from: first, as: "m(shard, tag, holder)")
    return """
      FROM \(schema).lease l JOIN \(named) ON \(SQL.same(["shard", "tag", "holder"], "l.", "m."))
      WHERE l.until \(SQL.isAbove) \(SQL.now)
      """
  }

  // MARK: - Statements

  /// Reads one row.
  ///
  /// `$1` to `$3`: the address.
  private static func row(of column: String, _ schema: String) -> String {
    let read = ReadColumns()
    return """
      SELECT version, epoch, gone, \(read.write), \(read.nonce), \(column) FROM \(schema).item
      WHERE \(SQL.hasAddress())
      """
  }

  /// Reads some rows.
  ///
  /// `$1` to `$3`: the addresses.
  private static func names(_ schema: String) -> String {
    let read = ReadColumns(of: "i.")
    return """
      SELECT u.n, i.version, i.epoch, i.gone, \(read.write), \(read.nonce), \(read.name)
      FROM \(numberedAddresses) JOIN \(schema).item i ON \(SQL.sameAddress("i.", "u."))
      """
  }

  /// Reads some rows.
  ///
  /// `$1` to `$3`: the addresses. `$4`: how many bytes of sealed values are enough.
  private static func values(_ schema: String) -> String {
    let read = ReadColumns()
    return """
      SELECT n, version, epoch, gone, \(read.write), \(read.nonce),
        CASE WHEN before \(SQL.isBelow) $4 THEN \(read.value) END
      FROM (
        SELECT u.n, i.version, i.epoch, i.gone, i.write, i.nonce, i.value,
          pg_catalog.sum(pg_catalog.octet_length(i.value)) OVER (ORDER BY u.n)
            \(SQL.minus) pg_catalog.octet_length(i.value) AS before
        FROM \(numberedAddresses) JOIN \(schema).item i ON \(SQL.sameAddress("i.", "u."))
      ) AS found ORDER BY n
      """
  }

  /// Reads the rows that follow an address.
  ///
  /// `$1`, `$2`: the first and the last namespace. `$3` to `$5`: the address before the page.
  /// `$6`: the number of rows.
  private static func page(_ schema: String) -> String {
    let read = ReadColumns()
    return """
      SELECT \(read.ns), shard, \(read.tag), version, epoch, gone, \(read.write),
        \(read.nonce), \(read.name) FROM \(schema).item
      WHERE ns \(SQL.isAtLeast) $1 AND ns \(SQL.isAtMost) $2
        AND (ns, shard, tag) \(SQL.isAbove) ($3, $4, $5)
      ORDER BY ns, shard, tag LIMIT $6
      """
  }

  /// Finds the rows that follow an address.
  ///
  /// `$1` to `$3`: the address. `$4`: the number of rows.
  private static func scan(_ schema: String) -> String {
    let read = ReadColumns()
    return """
      SELECT \(read.ns), shard, \(read.tag), epoch,
        (pg_catalog.octet_length(name) \(SQL.plus) pg_catalog.octet_length(value))::pg_catalog.int8
      FROM \(schema).item WHERE (ns, shard, tag) \(SQL.isAbove) ($1, $2, $3)
      ORDER BY ns, shard, tag LIMIT $4
      """
  }

  /// Counts the rows; more than ten million are the planner's estimate, because counting them takes
  /// longer than a statement may.
  private static func count(_ schema: String) -> String {
    """
    SELECT CASE
      WHEN i.reltuples \(SQL.isAbove) 10000000 THEN i.reltuples::pg_catalog.int8
      ELSE (SELECT pg_catalog.count(*) FROM \(schema).item)
    END
    FROM pg_catalog.pg_class i
    JOIN pg_catalog.pg_class h ON h.relnamespace \(SQL.equals) i.relnamespace
    WHERE i.relname \(SQL.equals) 'item'
      AND h.oid \(SQL.equals) (SELECT tableoid FROM \(schema).header)
    """
  }

  /// Reads some rows as a whole.
  ///
  /// `$1` to `$3`: the addresses.
  private static func rows(_ schema: String) -> String {
    let read = ReadColumns(of: "i.")
    return """
      SELECT u.ns, u.shard, u.tag, version, epoch, gone, \(read.write), \(read.nonce),
        \(read.name), \(read.value)
      FROM \(SQL.rows(of: addressTypes, as: "u(ns, shard, tag)"))
      JOIN \(schema).item i ON \(SQL.sameAddress("i.", "u."))
      """
  }

  /// Replaces what is sealed in some rows.
  ///
  /// `$1` to `$3`: the addresses. `$4`: the new versions, each the next one. `$5` to `$7`: nonces,
  /// names and values. `$8`: the epoch. `$9`: the header's MAC.
  private static func reseal(_ schema: String) -> String {
    let rows = SQL.rows(
      of: addressTypes + ["int8", "bytea", "bytea", "bytea"],
      as: "u(ns, shard, tag, new, nonce, name, value)")
    return """
      WITH u AS MATERIALIZED (
        SELECT * FROM \(rows)
        WHERE \(hasHeader(schema, epoch: 8, mac: 9))
      ), o AS MATERIALIZED (
        SELECT u.* FROM u JOIN \(schema).item i ON \(SQL.sameAddress("i.", "u."))
        WHERE i.version \(SQL.equals) (u.new \(SQL.minus) 1)
        ORDER BY u.ns, u.shard, u.tag FOR UPDATE OF i
      )
      UPDATE \(schema).item i SET version = o.new, epoch = $8,
        xid = pg_catalog.pg_current_xact_id(), nonce = o.nonce, name = o.name, value = o.value
      FROM o
      WHERE \(SQL.sameAddress("i.", "o.")) AND i.version \(SQL.equals) (o.new \(SQL.minus) 1)
      """
  }

  /// Finds the transactions that have locked the table `item` for a change.
  private static func changesUnderWay(_ schema: String) -> String {
    """
    SELECT l.virtualtransaction FROM pg_catalog.pg_locks l
    JOIN pg_catalog.pg_class i
      ON i.oid \(SQL.equals) l.relation AND i.relname \(SQL.equals) 'item'
    JOIN pg_catalog.pg_class h ON h.relnamespace \(SQL.equals) i.relnamespace
      AND h.oid \(SQL.equals) (SELECT tableoid FROM \(schema).header)
    WHERE l.locktype \(SQL.equals) 'relation' AND l.mode \(SQL.equals) 'RowExclusiveLock'
      AND l.granted AND l.database \(SQL.equals) (
        SELECT oid FROM pg_catalog.pg_database
        WHERE datname \(SQL.equals) pg_catalog.current_database()
      )
    """
  }

  /// Looks at some rows, at the header and at leases.
  ///
  /// `$1` to `$3`: the addresses. `$4` to `$6`: shard, tag and holder of the leases.
  private static func inspect(_ schema: String) -> String {
    """
    SELECT \(SQL.epoch(of: SQL.now, in: 1_000_000)), h.least_epoch,
      (
        SELECT pg_catalog.count(*) \(heldLeases(schema, from: 4))
      ) \(SQL.equals) pg_catalog.cardinality($6),
      i.version, i.gone, \(ReadColumns(of: "i.").write), \(mac)
    FROM \(schema).header h CROSS JOIN \(numberedAddresses)
    LEFT JOIN \(schema).item i ON \(SQL.sameAddress("i.", "u."))
    ORDER BY u.n
    """
  }

  /// Changes some rows.
  ///
  /// `$1` to `$3`: the addresses. `$4`, `$5`: the expected and the new versions. `$6`: whether each
  /// row is changed, or only looked at. `$7` to `$10`: what else is in the rows. `$11`, `$12`:
  /// epoch and write identifier. `$13` to `$15`: the leases. `$16`: the number of rows. `$17`: the
  /// header's MAC.
  ///
  /// A division by zero undoes everything unless all rows were as expected. The rows are locked in
  /// the order of their addresses, so that changes of the same rows do not block each other. A new
  /// row is refused ten minutes after its version was made: the statement may reach the server
  /// long after its sender has given up, and the removal of a later row may be deleted by then.
  private static func write(_ schema: String) -> String {
    let rows = SQL.rows(
      of: addressTypes + ["int8", "int8", "bool", "bool", "bytea", "bytea", "bytea"],
      as: "u(ns, shard, tag, old, new, changed, gone, nonce, name, value)")
    return """
      WITH f AS MATERIALIZED (
        SELECT 1 \(heldLeases(schema, from: 13)) ORDER BY l.shard, l.tag FOR SHARE OF l
      ), u AS MATERIALIZED (
        SELECT * FROM \(rows)
        WHERE (SELECT pg_catalog.count(*) FROM f) \(SQL.equals) pg_catalog.cardinality($15)
          AND \(hasHeader(schema, epoch: 11, mac: 17))
      ), o AS MATERIALIZED (
        SELECT u.* FROM u JOIN \(schema).item i ON \(SQL.sameAddress("i.", "u."))
        WHERE u.old \(SQL.differs) 0 AND i.version \(SQL.equals) u.old
        ORDER BY u.ns, u.shard, u.tag FOR UPDATE OF i
      ), replaced AS (
        UPDATE \(schema).item i SET version = o.new, epoch = $11, gone = o.gone,
          xid = pg_catalog.pg_current_xact_id(), write = $12, nonce = o.nonce, name = o.name,
          value = o.value
        FROM o
        WHERE \(SQL.sameAddress("i.", "o.")) AND i.version \(SQL.equals) o.old AND o.changed
        RETURNING 1
      ), added AS (
        INSERT INTO \(schema).item (
          ns, shard, tag, version, epoch, gone, write, nonce, name, value
        ) SELECT ns, shard, tag, new, $11, gone, $12, nonce, name, value FROM u
        WHERE old \(SQL.equals) 0 AND new \(SQL.isAbove) \(oldestNewVersion)
        ORDER BY ns, shard, tag ON CONFLICT DO NOTHING RETURNING 1
      )
      SELECT 1 \(SQL.dividedBy) (
        (
          (SELECT pg_catalog.count(*) FROM added)
          \(SQL.plus) (SELECT pg_catalog.count(*) FROM replaced)
          \(SQL.plus) (SELECT pg_catalog.count(*) FROM o WHERE NOT changed)
        ) \(SQL.equals) $16
      )::pg_catalog.int4
      """
  }

  /// Locks the leases of a change of one row, `$1` to `$3`, so that no one takes them meanwhile.
  private static func fence(_ schema: String) -> String {
    """
    WITH f AS MATERIALIZED (
      SELECT 1 \(heldLeases(schema, from: 1)) ORDER BY l.shard, l.tag FOR SHARE OF l
    )
    """
  }

  /// Changes one row, without the cost of a list; returns a row if it was changed.
  ///
  /// `$4` to `$6`: the address. `$7`, `$8`: the expected and the new version. `$9` to `$14`: epoch,
  /// gone, write identifier, nonce, name and value. `$15`: the header's MAC.
  private static func replace(_ schema: String) -> String {
    """
    \(fence(schema))
    UPDATE \(schema).item SET version = $8, epoch = $9, gone = $10,
      xid = pg_catalog.pg_current_xact_id(), write = $11, nonce = $12, name = $13, value = $14
    WHERE \(SQL.hasAddress("", 4)) AND version \(SQL.equals) $7
      AND (SELECT pg_catalog.count(*) FROM f) \(SQL.equals) pg_catalog.cardinality($3)
      AND \(hasHeader(schema, epoch: 9, mac: 15))
    RETURNING 1
    """
  }

  /// Adds one row; its parameters are those of ``replace``.
  private static func add(_ schema: String) -> String {
    """
    \(fence(schema))
    INSERT INTO \(schema).item (
      ns, shard, tag, version, epoch, gone, write, nonce, name, value
    ) SELECT $4, $5, $6, $8, $9, $10, $11, $12, $13, $14
    WHERE $7 \(SQL.equals) 0
      AND (SELECT pg_catalog.count(*) FROM f) \(SQL.equals) pg_catalog.cardinality($3)
      AND \(hasHeader(schema, epoch: 9, mac: 15))
      AND $8 \(SQL.isAbove) \(oldestNewVersion)
    ON CONFLICT DO NOTHING RETURNING 1
    """
  }
}
