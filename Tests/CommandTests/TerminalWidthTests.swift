import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tables and messages on terminals of several widths.
@Suite(.onOwnThread, .serialized) struct TerminalWidthTests {
  private static let url = "https://ada@git.example.org/a-rather-long/path/to/the/project.git"
  private let tool: Tool

  init() throws {
    tool = try Tool()
    let made = try tool.run(
      "session-tools init store && for i in bank \(Self.url); do printf 1 "
        + "| session-tools set store --service web $i; done "
        + "&& touch store/damaged-1 && chmod 600 store/damaged-1")
    try #require(made.status == 0)
  }

  /// Returns the lines that a terminal shows.
  private func lines(columns: UInt16, _ arguments: String...) throws -> [String] {
    let terminal = try PseudoTerminal(tool, [Tool.program] + arguments, columns: columns)
    _ = terminal.end()
    return terminal.text.replacing("\r\n", with: "\n").split(separator: "\n").map(String.init)
  }

  @Test(arguments: [40, 80] as [UInt16])
  func `a table is no wider than the terminal, and has no empty columns`(
    _ columns: UInt16
  ) throws {
    let lines = try lines(columns: columns, "list", "store")
    // A narrow one has no room for the time.
    let start = columns < 80 ? 9 : 27
    try #require(lines.count > 2)
    #expect(lines[0].hasPrefix("SERVICE  ") && lines[1].hasPrefix("web      "))
    #expect(lines[0].dropFirst(start) == "IDENTIFIER" && lines[1].dropFirst(start) == "bank")
    #expect(lines[0].contains("CHANGED") == (columns >= 80))
    #expect(lines.allSatisfy { $0.count <= columns })
    // What does not fit goes on in the same column.
    let indent = String(repeating: " ", count: start)
    #expect(lines.dropFirst(3).allSatisfy { $0.hasPrefix(indent) })
    #expect(lines.dropFirst(2).map { $0.dropFirst(start) }.joined() == Self.url)
  }

  @Test func `a last column without room is below the others`() throws {
    let lines = try lines(
      columns: 40, "migrate", "--from", "store", "--to", "store", "--identifier", "bank",
      "--rename-service", "web=other", "--dry-run")
    #expect(
      lines.prefix(4) == [
        "ACTION  SERVICE  IDENTIFIER", "    TARGET", "copy    web      bank", "    bank of other",
      ])
  }

  @Test(arguments: [40, 80, 200] as [UInt16])
  func `the findings of doctor are no wider than the terminal`(_ columns: UInt16) throws {
    let lines = try lines(columns: columns, "doctor", "store")
    #expect(lines.allSatisfy { $0.count <= columns })
    #expect(lines.contains { $0.hasSuffix("store/damaged-1") })
    // Nothing but the status is in the first column.
    #expect(
      lines.allSatisfy { line in
        ["ok ", "note ", "problem ", "    "].contains { line.hasPrefix($0) }
      })
  }

  @Test(arguments: [40, 80] as [UInt16])
  func `messages are broken between words and indented`(_ columns: UInt16) throws {
    try tool.run("rm -r data")
    let lines = try lines(columns: columns, "get", "store", "--service", "web", "bank")
    #expect(lines.count > 1 && lines[0].hasPrefix("session-tools: "))
    #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("  ") })
    // Only a path may be longer.
    #expect(lines.allSatisfy { $0.count <= columns || $0.contains(tool.path) })
    #expect(lines.contains { $0.contains("--credential") })
    let whole = try tool.run("session-tools get store --service web bank").complaint
    #expect(lines.map { $0.drop { $0 == " " } }.joined(separator: " ") + "\n" == whole)
  }

  @Test func `a name cannot begin a line of a message`() throws {
    let name = "a session-tools: this is no message of the tool but a name of some length"
    let lines = try lines(columns: 40, "get", "store", "--service", "web", name)
    #expect(lines.filter { $0.hasPrefix("session-tools: ") }.count == 1)
  }
}
