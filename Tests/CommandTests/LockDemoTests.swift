import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The tool's demonstration of a store behind a gate.
@Suite(.onOwnThread, .serialized) struct LockDemoTests {
  private static let passphrase = "pferd-batterie-klammer-31d7"
  private static let message = "the engine weaves"
  private static let question = "q ends: "

  private let tool: Tool

  init() throws {
    tool = try Tool()
  }

  private func start(
    _ options: String..., systemBus: String = "unix:path=/nonexistent"
  ) throws -> PseudoTerminal {
    let terminal = try PseudoTerminal(
      tool, [Tool.program, "lock-demo"] + options,
      environment: ["TMPDIR": tool.path, "DBUS_SYSTEM_BUS_ADDRESS": systemBus])
    for question in ["New passphrase for the demo: ", "Repeat the passphrase: ", "Passphrase: "] {
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
    try expectNothingLeft()
  }

  private func expectNothingLeft() throws {
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
    // The end of the input ends the demo.
    terminal.type("\u{4}")
    #expect(terminal.end() == 0)
  }

  @Test func ctrlCTidiesUp() throws {
    let terminal = try start()
    terminal.type("\u{3}")
    #expect(terminal.end() == 128 + SIGINT)
    try expectNothingLeft()
  }

  @Test func ctrlCAtThePassphraseBringsEchoBackAndTidiesUp() throws {
    let terminal = try start()
    terminal.type("l\n")
    #expect(terminal.shows("Passphrase: "))
    #expect(!terminal.echoes)
    terminal.type("\u{3}")
    #expect(terminal.end() == 128 + SIGINT)
    #expect(terminal.echoes)
    try expectNothingLeft()
  }

  @Test func aLockOfTheDesktopAndSleepHideTheContent() async throws {
    let bus = try await PrivateBus()
    let logind = try await MockLogind(on: bus)
    let terminal = try start(systemBus: bus.address)
    // The demo listens once it delays sleep.
    try await wait(until: "the demo listens") { try await logind.inhibitorCount() == 1 }
    try await logind.request(isLock: true)
    #expect(terminal.shows("The messages are hidden"))
    #expect(terminal.shows("Passphrase: "))
    terminal.type(Self.passphrase + "\n")
    #expect(terminal.shows(Self.message))
    #expect(terminal.shows(Self.question))
    try await logind.announce(sleep: true)
    #expect(terminal.shows("The messages are hidden"))
    #expect(terminal.shows("Passphrase: "))
    try await wait(until: "the machine may sleep") { try await logind.inhibitorCount() == 0 }
    terminal.type(Self.passphrase + "\n")
    #expect(terminal.shows(Self.question))
    try end(terminal)
  }

  // Root may look into a process that shuts out its own user.
  @Test(.enabled(if: geteuid() == 0 && !isSanitized, "only root may look into the tool's memory"))
  func whileItIsLockedThePassphraseIsNotInMemory() throws {
    let terminal = try start()
    terminal.type("l\n")
    #expect(terminal.shows("Passphrase: "))
    let found = try ProcessMemory(of: terminal.process).places(of: [
      // Known to be there, which shows that the search works.
      "name": Array("com.example.demo".utf8), "passphrase": Array(Self.passphrase.utf8),
    ])
    #expect(Set(found.keys) == ["name"])
    terminal.type(Self.passphrase + "\n")
    #expect(terminal.shows(Self.question))
    try end(terminal)
  }
}
