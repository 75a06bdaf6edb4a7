import SessionToolsDatabaseServer
import DatabaseStore
import SessionToolsTestSupport

/// Changes of a store that are written and not committed until a test lets them.
struct HeldChanges {
  /// A connection that is used for nothing else.
  let connection: DatabaseConnection
  private let number = Int64.random(in: 1...Int64(Int32.max))

  /// Holds all changes from now on, or those of one application.
  init(of made: StoreOnServer, by application: String? = nil) async throws {
    connection = try await DatabaseServer.shared().open()
    try connection.run("SELECT pg_advisory_lock(\(number))")
    let condition = application.map { "current_setting(''application_name'') = ''\($0)''" }
    try await made.runInChanges(
      """
      IF \(condition ?? "true") THEN PERFORM pg_advisory_xact_lock_shared(\(number)); END IF
      """)
  }

  /// Waits until a change is held.
  func waitForOne() async throws {
    try await wait(until: "a change is under way") {
      try connection.run("SELECT FROM pg_locks WHERE objid = \(number) AND NOT granted")
        .rowCount == 1
    }
  }

  /// Lets all changes be committed.
  func end() throws { try connection.run("SELECT pg_advisory_unlock(\(number))") }
}

extension StoreOnServer {
  /// Lets each change run a statement when its row is written, before it is committed.
  func runInChanges(_ statement: String) async throws {
    try await ask(
      """
      CREATE FUNCTION $.within_change() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN \(statement); RETURN NULL; END';
      CREATE TRIGGER within_change AFTER INSERT OR UPDATE ON $.item
        FOR EACH ROW EXECUTE FUNCTION $.within_change();
      """)
  }
}
