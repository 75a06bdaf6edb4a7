import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// A put that a server makes long after its sender has given up.
@Suite(.onOwnThread) struct `a put that is made late` {
  /// A store on a server of its own, whose clock a test sets.
  private struct Stage {
    let server: DatabaseServer
    let store: SealedDatabaseStore

    func ask(_ statement: String) async throws -> String {
      try await server.ask(statement.replacing("$", with: "session_tools"))
    }
  }

  /// The table is locked when the server executes the put, and its clock goes on meanwhile.
  private func put(afterMinutes minutes: Int) async throws -> Stage {
    var environment = DatabaseEnvironment.sweptByTest
    environment.retention = .zero
    let directory = try TemporaryDirectory()
    let server = try await DatabaseServer(
      withClockOf: ShiftedClock.library(in: directory))
    let key = try RawKey(RawKey.random())
    var options = SealedDatabaseStore.Options(operationTimeout: .seconds(60))
    let stage = Stage(
      server: server,
      store: try SealedDatabaseStore.create(
        at: server.socketAddress(), key: key, options: options, environment: environment))
    _ = try await stage.ask(
      """
      CREATE FUNCTION $.locked() RETURNS int LANGUAGE plpgsql AS '
        BEGIN LOCK TABLE $.item IN SHARE MODE; RETURN 1; END';
      """)
    options.operationTimeout = .seconds(8)
    // To prepare it, the server would lock the table already.
    options.preparesStatements = false
    let late = try SealedDatabaseStore.open(
      server.socketAddress(), key: key, options: options, environment: environment)
    let item = try ItemName("item", in: "svc")

    let holding = try await server.open().hold("SELECT session_tools.locked()", server.open())
    let outcome = try code { try late.apply([.put(SecretBytes(utf8: "late"), for: item)]) }
    #expect(outcome == .outcomeUnknown)
    try server.set(clock: 60 * minutes)
    try await holding.end()
    try await wait(until: "the server has ended what was left of the put") {
      try await stage.ask(
        """
        SELECT count(*) FROM pg_locks WHERE relation = '$.item'::regclass
          AND mode = 'RowExclusiveLock'
        """) == "0"
    }
    return stage
  }

  @Test func `does not bring back a name after ten minutes`() async throws {
    let made = try await put(afterMinutes: 11)
    #expect(try await made.ask("SELECT count(*) FROM $.item") == "0")
    let item = try ItemName("item", in: "svc")
    try await made.store.put("new", for: item)
    #expect(try await made.store.text(for: item) == "new")
  }

  @Test func `is made before, and has a lower version than what comes after it`() async throws {
    let made = try await put(afterMinutes: 9)
    let item = try ItemName("item", in: "svc")
    #expect(try await made.store.text(for: item) == "late")
    let version = try #require(Int64(try await made.ask("SELECT version FROM $.item")))
    try await made.store.remove(item)
    #expect(try await made.store.sweep() == 1)
    try await made.store.put("new", for: item)
    let newVersion = try #require(Int64(try await made.ask("SELECT version FROM $.item")))
    #expect(newVersion > version)
  }
}
