import Foundation
import TestSupport
import Testing

/// The store behind a gate that the tool shows.
@Suite(.serialized) struct LockDemoTests {
  private static let passphrase = "pferd-batterie-klammer-31d7"
  private static let message = "the engine weaves"
  private static let question = "q ends: "

  private let tool: Tool

  init() throws {
    tool = try Tool()
  }

  private func start(_ options: String...) throws -> PseudoTerminal {
    let terminal = try PseudoTerminal(
      tool, [Tool.program, "lock-demo"] + options,
      environment: ["TMPDIR": tool.path, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"])
    for question in ["New passphrase for the demo: ", "The same again: ", "Passphrase: "] {
      #expect(terminal.shows(question))
      #expect(!terminal.echoes)
      terminal.type(Self.passphrase + "\n")
    }
    #expect(terminal.shows(Self.message))
    #expect(terminal.shows(Self.question))
    return terminal
  }

  private func end(_ terminal: PseudoTerminal) throws {
    terminal.type("q\n")
    #expect(terminal.end() == 0)
    #expect(!terminal.text.contains(Self.passphrase))
    let left = try FileManager.default.contentsOfDirectory(atPath: tool.path)
    #expect(left.filter { $0.hasPrefix("session-tools-demo") } == [])
  }

  @Test func theContentIsHiddenUntilThePassphraseIsTypedAgain() throws {
    let terminal = try start()
    terminal.type("l\n")
    #expect(terminal.shows("The messages are hidden"))
    #expect(terminal.shows("Passphrase: "))
    terminal.type("wrong\n")
    #expect(terminal.shows("That was wrong. Passphrase: "))
    terminal.type(Self.passphrase + "\n")
    #expect(terminal.shows(Self.message))
    #expect(terminal.shows(Self.question))
    try end(terminal)
  }

  @Test func itLocksByItselfWhenNothingIsTyped() throws {
    let terminal = try start("--auto-lock", "0.2")
    #expect(terminal.shows("The messages are hidden"))
    #expect(terminal.shows("Passphrase: "))
    // Whoever does not want to leaves.
    terminal.type("\u{4}")
    #expect(terminal.end() == 0)
  }

  @Test func ctrlCTidiesUp() throws {
    let terminal = try start()
    terminal.type("\u{3}")
    #expect(terminal.end() == 128 + SIGINT)
    let left = try FileManager.default.contentsOfDirectory(atPath: tool.path)
    #expect(left.filter { $0.hasPrefix("session-tools-demo") } == [])
  }

  // Root may look into a process that shuts out its own user.
  @Test(.enabled(if: geteuid() == 0 && !isSanitized, "only root may look into the tool's memory"))
  func whileItIsLockedThePassphraseIsNotInMemory() throws {
    let terminal = try start()
    terminal.type("l\n")
    #expect(terminal.shows("Passphrase: "))
    let found = try ProcessMemory(of: terminal.process).places(of: [
      // Known to be there, which shows that the search finds what is.
      "name": Array("com.example.demo".utf8), "passphrase": Array(Self.passphrase.utf8),
    ])
    #expect(Set(found.keys) == ["name"])
    terminal.type(Self.passphrase + "\n")
    #expect(terminal.shows(Self.question))
    try end(terminal)
  }
}
