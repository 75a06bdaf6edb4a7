/// The statements that take leases, renew them and give them back, with the name of the schema.
///
/// Taking a lease is as durable as a change: after a failover, no other machine must get it while a
/// refresh token that can be used once is under way. The others do not wait for the server's disk:
/// what they lose in a crash is noticed by the statement that makes a change.
struct LeaseStatements: Sendable {
  /// Takes a lease; returns whether it is held now.
  let take: DatabaseStatement
  /// Takes a lease as ``take`` does, and reads the row of an item, with its value.
  let takeReading: DatabaseStatement
  /// Renews leases; returns the holders of those that it renewed.
  let renew: DatabaseStatement
  /// Gives a lease back.
  let release: DatabaseStatement

  private static let end = "\(SQL.now) \(SQL.plus) \(SQL.microseconds("$4"))"

  /// The commit that follows waits for no disk and no standby.
  private static let quickly =
    "pg_catalog.set_config('synchronous_commit', 'off', true)"

  init(schema: String) {
    take = DatabaseStatement(
      name: "take", text: "WITH \(Self.taken(schema)) SELECT \(Self.isHeld)")
    takeReading = DatabaseStatement(
      name: "take_reading", text: Self.takeReading(schema),
      rowsByteCount: RowOpener.maximumValueByteCount)
    renew = DatabaseStatement(name: "renew", text: Self.renew(schema))
    release = DatabaseStatement(name: "release", text: Self.release(schema))
  }

  /// The lease `t` of one name, as it is after someone asked for it; no row while another one
  /// holds it.
  ///
  /// `$1` to `$3`: shard, tag and holder. `$4`: how long it lasts. While the last holder gives it
  /// back, this waits.
  ///
  /// A lease that lasts longer than a new one was made when the server's clock was ahead. It is
  /// shortened: its holder renews it if it lives, and otherwise it must not last for hours.
  private static func taken(_ schema: String) -> String {
    """
    t AS (
      INSERT INTO \(schema).lease AS l (shard, tag, holder, until) VALUES ($1, $2, $3, \(end))
      ON CONFLICT (shard, tag) DO UPDATE SET
        holder = CASE
          WHEN l.until \(SQL.isAbove) excluded.until THEN l.holder
          ELSE excluded.holder
        END,
        until = excluded.until
      WHERE l.until \(SQL.isBelow) \(SQL.now) OR l.until \(SQL.isAbove) excluded.until
        OR l.holder \(SQL.equals) excluded.holder
      RETURNING l.holder
    )
    """
  }

  /// Whether the lease `t` is held now.
  ///
  /// If it is not, its row was locked for nothing: a commit that waits would keep the holder from
  /// making changes.
  private static let isHeld = """
    CASE WHEN EXISTS (SELECT FROM t WHERE holder \(SQL.equals) $3) THEN true
      ELSE \(quickly) IS NULL END
    """

  /// Takes a lease and reads a row.
  ///
  /// `$5` to `$7`: the address. The row's columns are NULL if it is not there.
  ///
  /// The last holder may have changed the row after this statement began to wait for the lease.
  /// The row's lock conflicts with every change, so it is of the newest version, which PostgreSQL
  /// then reads; a weaker lock would return the version from before.
  private static func takeReading(_ schema: String) -> String {
    let read = ReadColumns(of: "i.")
    return """
      WITH \(taken(schema)), r(version, epoch, gone, write, nonce, value) AS MATERIALIZED (
        SELECT i.version, i.epoch, i.gone, \(read.write), \(read.nonce), \(read.value)
        FROM t JOIN \(schema).item i ON \(SQL.hasAddress("i.", 5))
        WHERE t.holder \(SQL.equals) $3
        FOR NO KEY UPDATE OF i
      )
      SELECT h.is_held, r.* FROM (SELECT \(isHeld) AS is_held) h LEFT JOIN r ON true
      """
  }

  /// Renews leases.
  ///
  /// `$1` to `$3`: shard, tag and holder of each. `$4`: how long they last from now on.
  ///
  /// A lease that a change has locked is skipped: one whose backend waits, for a foreign lock or a
  /// standby, would keep all others from being renewed.
  private static func renew(_ schema: String) -> String {
    """
    WITH s AS MATERIALIZED (SELECT \(quickly)), h AS MATERIALIZED (
      SELECT l.shard, l.tag
      FROM \(schema).lease AS l
      JOIN \(SQL.rows(of: ["int2", "bytea", "bytea"], as: "m(shard, tag, holder)"))
      ON \(SQL.same(["shard", "tag", "holder"], "l.", "m."))
      FOR NO KEY UPDATE OF l SKIP LOCKED)
    UPDATE \(schema).lease AS l SET until = \(end)
    FROM s, h
    WHERE \(SQL.same(["shard", "tag"], "l.", "h."))
    RETURNING l.holder
    """
  }

  /// Gives a lease back: `$1` to `$3` are its shard, tag and holder.
  private static func release(_ schema: String) -> String {
    """
    WITH s AS MATERIALIZED (SELECT \(quickly))
    DELETE FROM \(schema).lease AS l USING s
    WHERE l.shard \(SQL.equals) $1 AND l.tag \(SQL.equals) $2
      AND l.holder \(SQL.equals) $3
    """
  }
}
