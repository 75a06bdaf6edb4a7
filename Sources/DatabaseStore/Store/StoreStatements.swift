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
  let look: DatabaseStatement
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
      text: "SELECT format, number, least_epoch, \(ReadColumns().header) FROM \(schema).header")
    replaceHeader = DatabaseStatement(
      name: nil,
      text: """
        UPDATE \(schema).header SET number = $2, least_epoch = $3, bytes = $4
        WHERE number = $1 RETURNING 1
        """)
    confirmHeader = DatabaseStatement(
      name: nil, text: "UPDATE \(schema).header SET number = number WHERE number = $1")
    value = DatabaseStatement(name: "value", text: Self.row(of: ReadColumns().value, schema))
    name = DatabaseStatement(name: "name", text: Self.row(of: ReadColumns().name, schema))
    names = DatabaseStatement(name: "names", text: Self.names(schema))
    values = DatabaseStatement(name: "values", text: Self.values(schema))
    page = DatabaseStatement(name: "page", text: Self.page(schema))
    look = DatabaseStatement(name: "look", text: Self.look(schema))
    write = DatabaseStatement(name: "write", text: Self.write(schema))
    replace = DatabaseStatement(name: "replace", text: Self.replace(schema))
    add = DatabaseStatement(name: "add", text: Self.add(schema))
    scan = DatabaseStatement(name: "scan", text: Self.scan(schema))
    count = DatabaseStatement(name: nil, text: Self.count(schema))
    rows = DatabaseStatement(name: "rows", text: Self.rows(schema))
    reseal = DatabaseStatement(name: "reseal", text: Self.reseal(schema))
    changesUnderWay = DatabaseStatement(name: nil, text: Self.changesUnderWay(schema))
    confirm = DatabaseStatement(
      name: "confirm",
      text: """
        UPDATE \(schema).item SET write = write
        WHERE ns = $1 AND place = $2 AND tag = $3 AND write = $4
        """)
  }

  /// Reads one row.
  ///
  /// `$1` to `$3`: the address.
  private static func row(of column: String, _ schema: String) -> String {
    let read = ReadColumns()
    return """
      SELECT version, epoch, gone, \(read.write), \(read.nonce), \(column) FROM \(schema).item
      WHERE ns = $1 AND place = $2 AND tag = $3
      """
  }

  /// Reads some rows.
  ///
  /// `$1` to `$3`: the addresses.
  private static func names(_ schema: String) -> String {
    let read = ReadColumns(of: "i.")
    return """
      SELECT u.n, i.version, i.epoch, i.gone, \(read.write), \(read.nonce), \(read.name)
      FROM unnest($1::bytea[], $2::int2[], $3::bytea[]) WITH ORDINALITY AS u(ns, place, tag, n)
      JOIN \(schema).item i ON i.ns = u.ns AND i.place = u.place AND i.tag = u.tag
      """
  }

  /// Reads some rows.
  ///
  /// `$1` to `$3`: the addresses. `$4`: how many bytes of sealed values are enough.
  private static func values(_ schema: String) -> String {
    let read = ReadColumns()
    return """
      SELECT n, version, epoch, gone, \(read.write), \(read.nonce),
        CASE WHEN before < $4 THEN \(read.value) END
      FROM (
        SELECT u.n, i.version, i.epoch, i.gone, i.write, i.nonce, i.value,
          sum(octet_length(i.value)) OVER (ORDER BY u.n) - octet_length(i.value) AS before
        FROM unnest($1::bytea[], $2::int2[], $3::bytea[]) WITH ORDINALITY AS u(ns, place, tag, n)
        JOIN \(schema).item i ON i.ns = u.ns AND i.place = u.place AND i.tag = u.tag
      ) AS found ORDER BY n
      """
  }

  /// Reads the rows that follow an address.
  ///
  /// `$1`, `$2`: the first and the last namespace. `$3` to `$5`: the address before the page.
  /// `$6`: whether removals are read, too. `$7`: the number of rows.
  private static func page(_ schema: String) -> String {
    let read = ReadColumns()
    return """
      SELECT \(read.ns), place, \(read.tag), version, epoch, gone, \(read.write),
        \(read.nonce), \(read.name) FROM \(schema).item
      WHERE ns >= $1 AND ns <= $2 AND (ns, place, tag) > ($3, $4, $5) AND ($6 OR NOT gone)
      ORDER BY ns, place, tag LIMIT $7
      """
  }

  /// Finds the rows that follow an address.
  ///
  /// `$1` to `$3`: the address. `$4`: the number of rows.
  private static func scan(_ schema: String) -> String {
    let read = ReadColumns()
    return """
      SELECT \(read.ns), place, \(read.tag), epoch,
        (octet_length(name) + octet_length(value))::int8
      FROM \(schema).item WHERE (ns, place, tag) > ($1, $2, $3)
      ORDER BY ns, place, tag LIMIT $4
      """
  }

  /// Counts the rows; more than ten million are the planner's estimate, because counting them takes
  /// longer than a statement may.
  private static func count(_ schema: String) -> String {
    """
    SELECT CASE
      WHEN i.reltuples > 10000000 THEN i.reltuples::int8
      ELSE (SELECT count(*) FROM \(schema).item)
    END
    FROM pg_class i JOIN pg_class h ON h.relnamespace = i.relnamespace
    WHERE i.relname = 'item' AND h.oid = (SELECT tableoid FROM \(schema).header)
    """
  }

  /// Reads some rows as a whole.
  ///
  /// `$1` to `$3`: the addresses.
  private static func rows(_ schema: String) -> String {
    let read = ReadColumns()
    return """
      SELECT ns, place, tag, version, epoch, gone, \(read.write), \(read.nonce), \(read.name),
        \(read.value)
      FROM unnest($1::bytea[], $2::int2[], $3::bytea[]) AS u(ns, place, tag)
      JOIN \(schema).item USING (ns, place, tag)
      """
  }

  /// Replaces what is sealed in some rows.
  ///
  /// `$1` to `$3`: the addresses. `$4`: the new versions, each the next one. `$5` to `$7`: nonces,
  /// names and values. `$8`: the epoch.
  private static func reseal(_ schema: String) -> String {
    """
    WITH u AS MATERIALIZED (
      SELECT * FROM unnest(
        $1::bytea[], $2::int2[], $3::bytea[], $4::int8[], $5::bytea[], $6::bytea[], $7::bytea[]
      ) AS u(ns, place, tag, new, nonce, name, value)
      WHERE (SELECT least_epoch FROM \(schema).header) <= $8
    ), o AS MATERIALIZED (
      SELECT u.* FROM u
      JOIN \(schema).item i ON i.ns = u.ns AND i.place = u.place AND i.tag = u.tag
      WHERE i.version = u.new - 1 ORDER BY u.ns, u.place, u.tag FOR UPDATE OF i
    )
    UPDATE \(schema).item i SET version = o.new, epoch = $8, xid = pg_current_xact_id(),
      nonce = o.nonce, name = o.name, value = o.value
    FROM o
    WHERE i.ns = o.ns AND i.place = o.place AND i.tag = o.tag AND i.version = o.new - 1
    """
  }

  /// Finds the transactions that have locked the table `item` for a change.
  private static func changesUnderWay(_ schema: String) -> String {
    """
    SELECT l.virtualtransaction FROM pg_locks l
    JOIN pg_class i ON i.oid = l.relation AND i.relname = 'item'
    JOIN pg_class h ON h.relnamespace = i.relnamespace
      AND h.oid = (SELECT tableoid FROM \(schema).header)
    WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    """
  }

  /// Looks at some rows, at the header and at leases.
  ///
  /// `$1` to `$3`: the addresses. `$4` to `$6`: place, tag and holder of the leases.
  private static func look(_ schema: String) -> String {
    """
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8, h.least_epoch,
      (
        SELECT count(*) FROM \(schema).lease l
        JOIN unnest($4::int2[], $5::bytea[], $6::bytea[]) AS m(place, tag, holder)
          ON l.place = m.place AND l.tag = m.tag AND l.holder = m.holder
        WHERE l.until > clock_timestamp()
      ) = cardinality($6),
      i.version, i.gone, \(ReadColumns(of: "i.").write)
    FROM \(schema).header h
    CROSS JOIN unnest($1::bytea[], $2::int2[], $3::bytea[]) WITH ORDINALITY AS u(ns, place, tag, n)
    LEFT JOIN \(schema).item i ON i.ns = u.ns AND i.place = u.place AND i.tag = u.tag
    ORDER BY u.n
    """
  }

  /// Changes some rows.
  ///
  /// `$1` to `$3`: the addresses. `$4`, `$5`: the expected and the new versions. `$6`: whether each
  /// row is changed, or only looked at. `$7` to `$10`: what else is in the rows. `$11`, `$12`:
  /// epoch and write identifier. `$13` to `$15`: the leases. `$16`: the number of rows.
  ///
  /// A division by zero undoes everything unless all rows were as expected. The rows are locked in
  /// the order of their addresses, so that changes of the same rows do not block each other. A new
  /// row is refused ten minutes after its version was made: the statement may reach the server
  /// long after its sender has given up, and the removal of a later row may be deleted by then.
  private static func write(_ schema: String) -> String {
    """
    WITH f AS MATERIALIZED (
      SELECT 1 FROM \(schema).lease l
      JOIN unnest($13::int2[], $14::bytea[], $15::bytea[]) AS m(place, tag, holder)
        ON l.place = m.place AND l.tag = m.tag AND l.holder = m.holder
      WHERE l.until > clock_timestamp() ORDER BY l.place, l.tag FOR SHARE OF l
    ), u AS MATERIALIZED (
      SELECT * FROM unnest(
        $1::bytea[], $2::int2[], $3::bytea[], $4::int8[], $5::int8[], $6::bool[], $7::bool[],
        $8::bytea[], $9::bytea[], $10::bytea[]
      ) AS u(ns, place, tag, old, new, changed, gone, nonce, name, value)
      WHERE (SELECT count(*) FROM f) = cardinality($15)
        AND (SELECT least_epoch FROM \(schema).header) <= $11
    ), o AS MATERIALIZED (
      SELECT u.* FROM u
      JOIN \(schema).item i ON i.ns = u.ns AND i.place = u.place AND i.tag = u.tag
      WHERE u.old <> 0 AND i.version = u.old ORDER BY u.ns, u.place, u.tag FOR UPDATE OF i
    ), replaced AS (
      UPDATE \(schema).item i SET version = o.new, epoch = $11, gone = o.gone,
        xid = pg_current_xact_id(), write = $12, nonce = o.nonce, name = o.name, value = o.value
      FROM o
      WHERE i.ns = o.ns AND i.place = o.place AND i.tag = o.tag AND i.version = o.old
        AND o.changed
      RETURNING 1
    ), added AS (
      INSERT INTO \(schema).item (
        ns, place, tag, version, epoch, gone, write, nonce, name, value
      ) SELECT ns, place, tag, new, $11, gone, $12, nonce, name, value FROM u
      WHERE old = 0 AND new > (extract(epoch FROM clock_timestamp()) - 600) * 1000000
      ORDER BY ns, place, tag ON CONFLICT DO NOTHING RETURNING 1
    )
    SELECT 1 / ((SELECT count(*) FROM added) + (SELECT count(*) FROM replaced)
      + (SELECT count(*) FROM o WHERE NOT changed) = $16)::int
    """
  }

  /// Locks the leases of a change of one row, `$1` to `$3`, so that no one takes them meanwhile.
  private static func fence(_ schema: String) -> String {
    """
    WITH f AS MATERIALIZED (
      SELECT 1 FROM \(schema).lease l
      JOIN unnest($1::int2[], $2::bytea[], $3::bytea[]) AS m(place, tag, holder)
        ON l.place = m.place AND l.tag = m.tag AND l.holder = m.holder
      WHERE l.until > clock_timestamp() ORDER BY l.place, l.tag FOR SHARE OF l
    )
    """
  }

  /// Changes one row, without the cost of a list; returns a row if it was changed.
  ///
  /// `$4` to `$6`: the address. `$7`, `$8`: the expected and the new version. `$9` to `$14`: epoch,
  /// gone, write identifier, nonce, name and value.
  private static func replace(_ schema: String) -> String {
    """
    \(fence(schema))
    UPDATE \(schema).item SET version = $8, epoch = $9, gone = $10, xid = pg_current_xact_id(),
      write = $11, nonce = $12, name = $13, value = $14
    WHERE ns = $4 AND place = $5 AND tag = $6 AND version = $7
      AND (SELECT count(*) FROM f) = cardinality($3)
      AND (SELECT least_epoch FROM \(schema).header) <= $9
    RETURNING 1
    """
  }

  /// Adds one row; its parameters are those of ``replace``.
  private static func add(_ schema: String) -> String {
    """
    \(fence(schema))
    INSERT INTO \(schema).item (
      ns, place, tag, version, epoch, gone, write, nonce, name, value
    ) SELECT $4, $5, $6, $8, $9, $10, $11, $12, $13, $14
    WHERE $7 = 0 AND (SELECT count(*) FROM f) = cardinality($3)
      AND (SELECT least_epoch FROM \(schema).header) <= $9
      AND $8 > (extract(epoch FROM clock_timestamp()) - 600) * 1000000
    ON CONFLICT DO NOTHING RETURNING 1
    """
  }
}

/// The columns of bytes as statements read them: the server cuts each off one byte behind the
/// largest length that a writer gives it.
///
/// Someone who writes to the database can put 1 GB into a column, and libpq receives all of it
/// before anyone looks at its length. What is cut off is still too long, and refused for that.
/// The results have no names, so that `ORDER BY` is by the columns themselves, and by their index.
struct ReadColumns {
  /// The prefix of the columns: the name of the table with a dot, or nothing.
  private let table: String

  /// The length of a hash and of a write identifier.
  private static let hashByteCount = 16

  init(of table: String = "") {
    self.table = table
  }

  var ns: String { beginning("ns", Self.hashByteCount) }
  var tag: String { beginning("tag", Self.hashByteCount) }
  var write: String { beginning("write", Self.hashByteCount) }
  var nonce: String { beginning("nonce", Sodium.nonceByteCount) }
  var name: String { beginning("name", RowOpener.largestNameByteCount) }
  var value: String { beginning("value", RowOpener.largestValueByteCount) }
  var header: String { beginning("bytes", DatabaseHeader.largestByteCount) }

  private func beginning(_ column: String, _ largestByteCount: Int) -> String {
    "substring(\(table)\(column) FROM 1 FOR \(largestByteCount + 1))"
  }
}
