import SessionToolsDatabaseServer
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The tool in front of a person at a terminal.
@Suite(.onOwnThread) struct DatabaseTerminalTests {
  private func stage(_ database: String) async throws -> DatabaseTool {
    let stage = try await DatabaseTool(on: DatabaseServer.withRoles(), database: database)
    let made = try stage.tool.run(
      "printf geheim | session-tools init $ADMIN --passphrase-fd 0 "
        + "--passphrase-memory 8 --passphrase-passes 1", environment: stage.environment)
    try #require(made.status == 0)
    return stage
  }

  private func terminal(
    _ stage: DatabaseTool, columns: UInt16 = 0, _ words: String...
  ) throws -> PseudoTerminal {
    try PseudoTerminal(stage.tool, [DatabaseTool.program] + words, columns: columns)
  }

  @Test(arguments: [(DatabaseServer.password, 0), ("falsch", 8)] as [(String, Int32)])
  func `a password that the server wants is asked for once, and not shown`(
    _ password: String, _ status: Int32
  ) async throws {
    let stage = try await stage("password-\(status)")
    let terminal = try terminal(stage, "slots", "list", stage.address(user: "app"))
    #expect(terminal.shows("Password of the database's user: "))
    #expect(!terminal.echoes)
    terminal.type(password + "\n")
    #expect(terminal.end() == status)
    #expect(terminal.echoes)
    #expect(!terminal.text.contains(password))
    #expect(terminal.text.contains("passphrase (Argon2id") == (status == 0))
  }

  @Test func `the passphrase of a store is asked for`() async throws {
    let stage = try await stage("passphrase")
    let terminal = try terminal(stage, "rotate", stage.address(user: "postgres"))
    for passphrase in ["falsch", "geheim"] {
      #expect(
        terminal.shows(
          "Passphrase for schema session_tools of database passphrase at 127.0.0.1:"))
      #expect(!terminal.echoes)
      terminal.type(passphrase + "\n")
    }
    #expect(terminal.end() == 0)
    #expect(!terminal.text.contains("geheim"))
  }

  @Test func `a person who does not agree revokes nothing`() async throws {
    let stage = try await stage("revoke")
    let added = try stage.tool.run(
      "printf geheim | session-tools slots add $ADMIN --passphrase-fd 0 "
        + "--new-key-file bob.key", environment: stage.environment)
    try #require(added.status == 0)
    let address = stage.address(user: "postgres")
    for (answer, status, count) in [("n", 1, 2), ("y", 0, 1)] as [(String, Int32, Int)] {
      let terminal = try terminal(
        stage, "rotate", address, "--revoke", "--key-file", stage.tool["bob.key"])
      #expect(terminal.shows("drop slot 1: passphrase"))
      #expect(terminal.shows("Continue? [y/N] "))
      terminal.type(answer + "\n")
      #expect(terminal.end() == status)
      let slots = try stage.tool.run("session-tools slots list '\(address)'")
      #expect(slots.text.split(separator: "\n").count == count)
    }
  }

  @Test(arguments: [60, 80] as [UInt16])
  func `what doctor finds fits the terminal`(_ columns: UInt16) async throws {
    let stage = try await stage("width-\(columns)")
    let terminal = try terminal(
      stage, columns: columns, "doctor", stage.address(user: "postgres"), "--instances", "1000")
    #expect(terminal.end() == 1)
    let lines = terminal.text.replacing("\r\n", with: "\n").split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= columns })
    #expect(lines.contains { $0.hasPrefix("problem  connections") })
    #expect(lines.contains { $0.hasPrefix("ok       removals") })
  }
}
