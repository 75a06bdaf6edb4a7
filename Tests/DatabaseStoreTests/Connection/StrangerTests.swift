import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// A database in which someone has made operators, functions and types that statements could fall
/// into (CVE-2018-1058): each of them is a trap that raises an error.
@Suite(.onOwnThread) struct `a database with a stranger's operators` {
  /// Makes the traps, by a script that PostgreSQL's own schema still applies to.
  private static let traps = """
    DO $do$
    DECLARE
      types text[] := ARRAY['bool', 'int2', 'int4', 'int8', 'numeric', 'float4', 'float8', 'text',
        'name', 'varchar', 'bytea', 'oid', 'xid', 'xid8', 'timestamptz', 'interval'];
      lists text[] := ARRAY['bool[]', 'int2[]', 'int8[]', 'text[]', 'bytea[]'];
      functions text[] := ARRAY['unnest', 'cardinality', 'count', 'sum', 'max', 'min', 'age',
        'octet_length', 'length', 'substring', 'substr', 'extract', 'date_part', 'convert_from',
        'greatest', 'version', 'current_setting', 'pg_notify', 'pg_snapshot_xmin',
        'pg_snapshot_xmax', 'has_schema_privilege', 'has_table_privilege', 'aclexplode',
        'pg_relation_size', 'pg_total_relation_size'];
      plain text[] := ARRAY['version', 'clock_timestamp', 'now', 'pg_backend_pid',
        'current_database', 'pg_current_xact_id', 'pg_current_snapshot', 'pg_control_system',
        'pg_postmaster_start_time'];
      l text; r text; o text; f text;
      body text := $$LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END'$$;
    BEGIN
      FOREACH l IN ARRAY types || lists LOOP
        FOREACH f IN ARRAY functions LOOP
          EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS bool %s', f, l, body);
        END LOOP;
      END LOOP;
      FOREACH f IN ARRAY plain LOOP
        IF f <> ALL (functions) OR f = 'version' THEN
          EXECUTE format('CREATE FUNCTION public.%I() RETURNS bool %s', f, body);
        END IF;
      END LOOP;
      EXECUTE format('CREATE FUNCTION public.set_config(text, text, bool) RETURNS text %s', body);
      EXECUTE format('CREATE FUNCTION public.pg_notify(text, text) RETURNS void %s', body);
      EXECUTE format('CREATE FUNCTION public.substring(bytea, int, int) RETURNS bytea %s', body);
      FOREACH l IN ARRAY types LOOP
        FOREACH r IN ARRAY types LOOP
          EXECUTE format('CREATE FUNCTION public.trap(%s, %s) RETURNS bool %s', l, r, body);
          FOREACH o IN ARRAY ARRAY['=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '||'] LOOP
            EXECUTE format(
              'CREATE OPERATOR public.%s (leftarg = %s, rightarg = %s, function = public.trap)',
              o, l, r);
          END LOOP;
        END LOOP;
      END LOOP;
    END
    $do$;
    CREATE TABLE public.pg_class (oid oid, relname name, relnamespace oid);
    CREATE TABLE public.pg_roles (rolname name, rolsuper bool, oid oid, rolconnlimit int);
    CREATE DOMAIN public.int8 AS pg_catalog.int8 CHECK (false);
    CREATE DOMAIN public.bytea AS pg_catalog.bytea CHECK (false);
    CREATE DOMAIN public.bool AS pg_catalog.bool CHECK (false);
    """

  /// Whether the stranger's schema is looked at before PostgreSQL's own, too.
  @Test(arguments: [false, true])
  func `runs none of them`(_ isFirst: Bool) async throws {
    let server = try await DatabaseServer()
    try await server.ask("CREATE DATABASE traps")
    let address = server.socketAddress(database: "traps")
    try await server.run(Self.traps, in: "traps")
    if isFirst { try await server.ask("ALTER DATABASE traps SET search_path = public, pg_catalog") }
    for isPrepared in [false, true] {
      var options = SealedDatabaseStore.Options(
        schema: "store_\(isPrepared)", operationTimeout: .seconds(60))
      options.preparesStatements = isPrepared
      try await useStore(at: address, options)
    }
    // The traps work: the code is that of an error that is raised.
    let connection = try opening(address, .unnamed).open(until: later)
    let fallen = failure { try connection.run("SELECT 1::pg_catalog.oid + 1::pg_catalog.numeric") }
    #expect("\(String(describing: fallen))".contains("P0001"))
  }

  /// Uses every statement of a store.
  private func useStore(
    at address: String, _ options: SealedDatabaseStore.Options
  ) async throws {
    let key = try RawKey(RawKey.random())
    let store = try SealedDatabaseStore.create(
      at: address, key: key, options: options, environment: .sweptByTest)
    let other = try SealedDatabaseStore.open(address, key: key, options: options)
    let listener = Listener(other.changes())
    try await listener.waitForBegin()
    let items = try (0..<5).map { try ItemName("item \($0)", in: "svc") }
    try await store.put("one", for: items[0])
    try await store.put("two", for: items[0])
    try await store.apply(items.map { .put(SecretBytes(utf8: "x"), for: $0) })
    #expect(try await other.text(for: items[0]) == "x")
    #expect(try await store.contains(items[1]))
    #expect(try await other.names(in: "svc").count == 5)
    #expect(try await other.names(in: nil).count == 5)
    try await store.withExclusiveAccess(to: items[0], timeout: .seconds(60)) {
      try await store.put("three", for: items[0])
      try await store.apply([.remove(items[1]), .put(SecretBytes(utf8: "y"), for: items[2])])
    }
    try await wait(until: "the changes are reported") { listener.reported.isSuperset(of: items) }
    try await store.remove(items[3])
    _ = try store.sweep()
    _ = try store.keySlots()
    try store.addSlot(RawKey(RawKey.random()))
    try store.rotate()
    #expect(try await other.text(for: items[0]) == "three")
    let directory = try TemporaryDirectory()
    let keeper = try SealedFileStore.create(
      at: directory["keeper"], key: RawKey(RawKey.random()))
    _ = try store.compare(with: keeper)
    let inspector = try DatabaseInspector(address, options)
    _ = try inspector.isBehindPooler()
    _ = try inspector.header()
    #expect(try inspector.rights().isSuperuser)
    _ = try inspector.connections()
    _ = try inspector.oldestTransaction()
    #expect(try inspector.contents().itemCount > 0)
  }
}
