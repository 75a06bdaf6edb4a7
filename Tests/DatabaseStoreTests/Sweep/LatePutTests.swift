import DatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import TestSupport
import TestThreads
import Testing

/// A put that a server makes long after its sender has given up.
@Suite(.onOwnThread) struct `a put that is made late` {
  /// The table is locked when the server executes the put, and its clock goes on meanwhile.
  private func put(afterMinutes minutes: Int) async throws -> StoreOnServer {
    var environment = DatabaseEnvironment.sweptByTest
    environment.retention = .zero
    let made = try await StoreOnServer(environment: environment)
    let schema = made.place.options.schema
    // A user for whom the server has another clock.
    try await made.ask(
      """
      CREATE SCHEMA $_clock;
      CREATE TABLE $_clock.passed (minutes int);
      INSERT INTO $_clock.passed VALUES (0);
      CREATE FUNCTION $_clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS '
        SELECT pg_catalog.clock_timestamp() + minutes * interval ''1 minute'' FROM $_clock.passed';
      CREATE FUNCTION $.locked() RETURNS int LANGUAGE plpgsql AS '
        BEGIN LOCK TABLE $.item IN SHARE MODE; RETURN 1; END';
      CREATE ROLE $_late LOGIN SUPERUSER;
      ALTER ROLE $_late SET search_path = $_clock, pg_catalog;
      """)
    let server = try await DatabaseServer.shared()
    var place = made.place
    place.address = server.socketAddress(user: "\(schema)_late")
    place.options.operationTimeout = .seconds(8)
    // To prepare it, the server would lock the table already.
    place.options.preparesStatements = false
    let late = try place.reopened()
    let item = try StoreKey("item", in: "svc")

    let holding = try await server.open().hold("SELECT \(schema).locked()", server.open())
    let outcome = try code { try late.apply([.put(SecretBytes(utf8: "late"), for: item)]) }
    #expect(outcome == .outcomeUnknown)
    try await made.ask("UPDATE $_clock.passed SET minutes = \(minutes)")
    try await holding.end()
    try await wait(until: "the server has ended what was left of the put") {
      try await made.ask(
        """
        SELECT count(*) FROM pg_locks WHERE relation = '$.item'::regclass
          AND mode = 'RowExclusiveLock'
        """) == "0"
    }
    return made
  }

  @Test func `does not bring back a name after ten minutes`() async throws {
    let made = try await put(afterMinutes: 11)
    #expect(try await made.ask("SELECT count(*) FROM $.item") == "0")
    let item = try StoreKey("item", in: "svc")
    try await made.store.put("new", for: item)
    #expect(try await made.store.text(for: item) == "new")
  }

  @Test func `is made before, and has a lower version than what comes after it`() async throws {
    let made = try await put(afterMinutes: 9)
    let item = try StoreKey("item", in: "svc")
    #expect(try await made.store.text(for: item) == "late")
    let version = try #require(Int64(try await made.ask("SELECT version FROM $.item")))
    try await made.store.remove(item)
    #expect(try await made.sweep() == 1)
    try await made.store.put("new", for: item)
    let newVersion = try #require(Int64(try await made.ask("SELECT version FROM $.item")))
    #expect(newVersion > version)
  }
}
