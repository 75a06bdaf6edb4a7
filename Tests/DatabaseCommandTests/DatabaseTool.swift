import SessionToolsDatabaseServer
import Foundation
import SessionToolsTestSupport

/// `session-tools` beside a server, with a database of its own.
///
/// Command lines find the addresses of the database in `$ADMIN`, whose user may do anything without
/// a password, and in `$APP`, whose user needs the password in the file `password`.
struct DatabaseTool {
  static let program = BuildDirectory.program("session-tools")

  let tool: Tool
  let server: DatabaseServer
  private let database: String

  init(on server: DatabaseServer, database: String) async throws {
    self.server = server
    self.database = database
    tool = try Tool()
    try await server.ask("CREATE DATABASE \"\(database)\"")
    let made = FileManager.default.createFile(
      atPath: tool["password"], contents: Data((DatabaseServer.password + "\n").utf8),
      attributes: [.posixPermissions: 0o600])
    guard made else { throw CocoaError(.fileWriteUnknown) }
  }

  func address(user: String, host: String = "127.0.0.1", port: UInt16? = nil) -> String {
    "postgresql://\(user)@\(host):\(port ?? server.port)/\(database)"
  }

  var environment: [String: String] {
    [
      "ADMIN": address(user: "postgres"), "APP": address(user: "app"),
      "TLS": address(user: "app", host: "localhost"), "AUTHORITY": server.authority,
      "SQL": "psql -XAtqv ON_ERROR_STOP=1 \(address(user: "postgres")) -c",
    ]
  }

  /// What differs from run to run, by names.
  var names: [(String, String)] {
    [
      ("\(server.port)", "[PORT]"), ("PostgreSQL [0-9.]+", "PostgreSQL [VERSION]"),
      (NSRegularExpression.escapedPattern(for: server.directory), "[SERVER]"),
      ("(the last sweep was|no program has) .*", "[SWEEP]"), ("[0-9]+ open now", "[N] open now"),
      ("items, [0-9.]+ [KM]iB", "items, [SIZE]"),
      ("20[0-9-]+T[0-9:]+Z", "[TIME]"),
      // Other tests use the same server.
      (
        "none is open that has written|the oldest that has written is open for [0-9]+ s"
          + "|[a-z]+ has one open; since when is not shown", "[TRANSACTIONS]"
      ),
    ]
  }
}

extension DatabaseServer {
  private static let one = Task {
    let server = try await DatabaseServer()
    for name in ["owner", "application", "auditor"] {
      try await server.ask("CREATE ROLE session_tools_\(name) NOLOGIN")
    }
    try await server.ask(
      """
      GRANT session_tools_owner TO postgres;
      GRANT session_tools_application TO app;
      ALTER ROLE postgres SET client_min_messages = warning
      """)
    return server
  }

  /// Returns a server with the roles of a store, on which tests can make stores at the same time.
  static func withRoles() async throws -> DatabaseServer { try await one.value }
}
