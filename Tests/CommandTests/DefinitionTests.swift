import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What is true of the definitions of all commands.
@Suite(.onOwnThread) struct DefinitionTests {
  @Test func `no command is ambiguous`() throws {
    #expect(try CommandDefinition.mistakes(of: "session-tools", Tool()).isEmpty)
  }

  /// Help is broken at 80 columns, also in the middle of an example that a person copies.
  @Test func `no example is wider than a terminal`() throws {
    struct Dump: Decodable {
      let command: Command
    }
    struct Command: Decodable {
      let commandName: String
      let discussion: String?
      let subcommands: [Command]?

      /// The lines that are kept as they are.
      var indentedLines: [String] {
        (discussion ?? "").split(separator: "\n").map(String.init).filter { $0.hasPrefix("  ") }
          + (subcommands ?? []).flatMap(\.indentedLines)
      }
    }
    let outcome = try Tool().run("session-tools --experimental-dump-help")
    let lines = try JSONDecoder().decode(Dump.self, from: outcome.output)
      .command.indentedLines
    #expect(lines.count > 100)
    #expect(lines.filter { $0.count >= 80 } == [])
  }
}
