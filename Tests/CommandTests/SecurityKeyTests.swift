import SoftwareKeys
import TestSupport
import TestThreads
import Testing

/// Security keys in front of a person at a terminal.
@Suite(.onOwnThread) struct SecurityKeyTests {
  private let tool: Tool
  private let key: SoftwareKey

  /// Makes a store whose only slot is the key's.
  init() throws {
    tool = try Tool()
    key = try SoftwareKey()
    let made = try tool.run(
      "session-tools init store && printf s3cret | session-tools set store --service mail token")
    try #require(made.status == 0)
    let terminal = try begin("slots", "add", "store", "--new-security-key", "--label", "Ada's")
    try #require(terminal.shows("A new slot takes two touches"))
    try #require(terminal.shows("PIN of Ada's (8 tries left): "))
    terminal.type("1234\n")
    for _ in 1...2 { try #require(terminal.shows("Touch your security key")) }
    try #require(terminal.shows("Slot 1 (key file) opens the store without the security key"))
    try #require(terminal.end() == 0)
    let removed = try begin("slots", "remove", "store", "1")
    try #require(removed.end() == 0)
  }

  private func begin(_ arguments: String..., with keys: [SoftwareKey]? = nil) throws
    -> PseudoTerminal
  {
    try PseudoTerminal(
      tool, [Tool.program] + arguments, environment: SoftwareKey.environment(of: keys ?? [key]))
  }

  private func get(_ options: String..., with keys: [SoftwareKey]? = nil) throws -> PseudoTerminal {
    try PseudoTerminal(
      tool, [Tool.program, "get", "store", "--service", "mail", "token"] + options,
      environment: SoftwareKey.environment(of: keys ?? [key]))
  }

  @Test func `a key that is plugged in opens the store`() throws {
    let terminal = try get()
    #expect(terminal.shows("PIN of Ada's (8 tries left): "))
    #expect(!terminal.echoes)
    terminal.type("1234\n")
    #expect(terminal.shows("Touch your security key"))
    #expect(terminal.shows("s3cret"))
    #expect(terminal.end() == 0)
  }

  @Test func `a wrong PIN ends the command and says what is left`() throws {
    let terminal = try get()
    #expect(terminal.shows("PIN of Ada's (8 tries left): "))
    terminal.type("0000\n")
    #expect(terminal.end() == 5)
    #expect(terminal.text.contains("the PIN is wrong, 7 tries left"))
    #expect(key.count("wrong PIN") == 1)
  }

  @Test func `a dismissed question and no input cost no try`() throws {
    let dismissed = try get()
    #expect(dismissed.shows("PIN of Ada's"))
    dismissed.type([4])
    #expect(dismissed.end() == 4)
    let silent = try get("--no-input")
    #expect(silent.end() == 4)
    #expect(silent.text.contains("Give its security key, plugged in, on a terminal"))
    let named = try get("--no-input", "--security-key")
    #expect(named.end() == 4)
    #expect(named.text.contains("there is no terminal to ask for the security key's PIN"))
    #expect(key.count("wrong PIN") == 0)
  }

  @Test func `another key is not asked`() throws {
    let other = try SoftwareKey()
    let terminal = try get(with: [other])
    #expect(terminal.end() == 4)
    #expect(terminal.text.contains("no key was given"))
    let named = try get("--security-key", with: [other])
    #expect(named.end() == 4)
    #expect(named.text.contains("Plug in Ada's"))
  }

  @Test func `a revocation asks for the PIN once`() throws {
    let terminal = try begin("rotate", "store", "--revoke")
    #expect(terminal.shows("PIN of Ada's (8 tries left): "))
    terminal.type("1234\n")
    #expect(terminal.end() == 0)
    #expect(terminal.text.contains("keep slot 1: security key (Ada's"))
    #expect(terminal.text.ranges(of: "PIN of Ada's").count == 1)
  }

  @Test func `the slot of a key that is lost is dropped, and that of the key at hand is kept`()
    throws
  {
    let (lost, spare) = try (SoftwareKey(pin: ""), SoftwareKey(pin: ""))
    try #require(tool.run("session-tools init other").status == 0)
    for (key, label) in [(lost, "lost"), (spare, "spare")] {
      let added = try tool.run(
        "session-tools slots add other --new-security-key --touch-only --label \(label)",
        environment: SoftwareKey.environment(of: [key]))
      try #require(added.status == 0, "\(added.complaint)")
    }
    let revoked = try tool.run(
      "session-tools rotate other --revoke --yes --keep-security-key",
      environment: SoftwareKey.environment(of: [spare]))
    #expect(revoked.status == 0)
    #expect(revoked.complaint.contains("keep slot 3: security key (spare; touch alone)"))
    #expect(revoked.complaint.contains("drop slot 2: security key (lost; touch alone)"))
    let none = try tool.run(
      "session-tools rotate other --revoke --yes --keep-security-key",
      environment: SoftwareKey.environment(of: [lost]))
    #expect(none.status == 5)
    #expect(none.complaint.contains("a key that should be kept does not open the store"))
  }

  @Test func `an interrupted command leaves the key usable`() async throws {
    try key.behave(.init(touch: "never"))
    let terminal = try get()
    #expect(terminal.shows("PIN of Ada's"))
    terminal.type("1234\n")
    #expect(terminal.shows("Touch your security key"))
    try await key.waits(times: 3)
    terminal.type([3])
    #expect(terminal.end() == 130)
    try key.behave(.init())
    let again = try get()
    #expect(again.shows("PIN of Ada's (8 tries left): "))
    again.type("1234\n")
    #expect(again.shows("s3cret"))
    #expect(again.end() == 0)
  }
}
