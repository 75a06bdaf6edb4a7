import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The passphrases in the tool's memory, and access to that memory.
@Suite(.onOwnThread) struct ToolMemoryTests {
  private static let passphrase = "pferd-batterie-klammer-5d81e0b7"

  private let tool: Tool

  init() throws {
    tool = try Tool()
    #expect(
      FileManager.default.createFile(
        atPath: tool["passphrase"], contents: Data(Self.passphrase.utf8),
        attributes: [.posixPermissions: 0o600]))
  }

  // Root may look into a process that shuts out its own user.
  @Test(
    .enabled(if: geteuid() == 0 && !isSanitized, "only root may look into the tool's memory"),
    arguments: ["--passphrase", "--passphrase-file=passphrase", "--passphrase-fd=3"])
  func aPassphraseIsGoneFromMemoryOnceTheStoreIsOpen(_ option: String) throws {
    let made = try tool.run(
      "session-tools init store --passphrase-file passphrase --passphrase-memory 8 "
        + "--passphrase-passes 1")
    try #require(made.status == 0)
    let item = "an-item-with-a-long-name"
    let terminal = try PseudoTerminal(
      tool, [Tool.program, "set", "store", option, "--service", "s", item],
      descriptor3: "passphrase")
    if option == "--passphrase" {
      #expect(terminal.shows("Passphrase for store: "))
      terminal.type(Self.passphrase + "\n")
    }
    #expect(terminal.shows("Value of"))
    let found = try ProcessMemory(of: terminal.process).places(of: [
      // Known to be there, which shows that the search works.
      "item": Array(item.utf8), "passphrase": Array(Self.passphrase.utf8),
    ])
    #expect(Set(found.keys) == ["item"])
    terminal.type("value\n")
    #expect(terminal.shows("Repeat the value: "))
    terminal.type("value\n")
    #expect(terminal.end() == 0)
  }

  /// If a process must not be dumped, its files in `/proc` belong to root, so that no process of
  /// the same user can read its memory.
  @Test func theToolsMemoryIsClosedToOtherProcessesOfItsUser() throws {
    let other = 65534
    let user = geteuid() == 0 ? other : Int(geteuid())
    // Root's own processes look the same either way, so the tool runs as another user then.
    let asUser =
      geteuid() == 0
      ? ["setpriv", "--reuid=\(other)", "--regid=\(other)", "--clear-groups"] : []
    #expect(unsafe chmod(tool.path, 0o711) == 0)
    let program = tool["session-tools"]
    try FileManager.default.copyItem(atPath: Tool.program, toPath: program)

    let open = try PseudoTerminal(tool, asUser + ["bash", "-c", "echo begun; read"])
    #expect(open.shows("begun"))
    #expect(try owner(of: "/proc/\(open.process)/mem") == user)
    open.type("\n")
    #expect(open.end() == 0)

    let closed = try PseudoTerminal(tool, asUser + [program, "list", "store", "--passphrase"])
    #expect(closed.shows("Passphrase for store: "))
    #expect(try owner(of: "/proc/\(closed.process)/mem") == 0)
    closed.type("\u{3}")
    #expect(closed.end() == 128 + SIGINT)
  }

  private func owner(of path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.ownerAccountID] as? Int)
  }
}
