import SessionToolsSoftwareKeys
import SessionToolsTestSupport
import SessionToolsTestThreads
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

  @Test func `a key that does not open the store leaves the passphrase to ask for`() throws {
    let added = try begin(
      "slots", "add", "store", "--passphrase-memory", "8", "--passphrase-passes", "1")
    try #require(added.shows("PIN of Ada's"))
    added.type("1234\n")
    try #require(added.shows("New passphrase for store: "))
    added.type("a passphrase\n")
    try #require(added.shows("Repeat the passphrase: "))
    added.type("a passphrase\n")
    try #require(added.end() == 0)
    let paused = "the key accepts no PIN for now, after three wrong ones in a row, 5 tries left"
    let reasons = [
      "the PIN is wrong, 7 tries left", "the PIN is wrong, 6 tries left", paused, paused,
    ]
    for reason in reasons {
      let terminal = try get()
      #expect(terminal.shows("PIN of Ada's"))
      terminal.type("0000\n")
      #expect(terminal.shows("the security key does not open store: key slot 1 (Ada's): \(reason)"))
      #expect(terminal.shows("Passphrase for store: "))
      terminal.type("a passphrase\n")
      #expect(terminal.shows("s3cret"))
      #expect(terminal.end() == 0)
    }
    try key.behave(.init(touch: "hangs up", plugged: 2))
    let broken = try get()
    #expect(broken.shows("PIN of Ada's"))
    broken.type("1234\n")
    #expect(broken.shows("Software Key does not answer as it should"))
    #expect(broken.shows("Passphrase for store: "))
    broken.type("a passphrase\n")
    #expect(broken.shows("s3cret"))
    #expect(broken.end() == 0)
    // Without the key, nothing is said about it.
    let absent = try get(with: [])
    #expect(absent.shows("Passphrase for store: "))
    #expect(!absent.text.contains("security key"))
    absent.type("a passphrase\n")
    #expect(absent.shows("s3cret"))
    #expect(absent.end() == 0)
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
    #expect(named.text.contains("key slot 1 (Ada's): its security key is not plugged in"))
  }

  @Test func `a revocation asks for the PIN once`() throws {
    let terminal = try begin("rotate", "store", "--revoke")
    #expect(terminal.shows("PIN of Ada's (8 tries left): "))
    terminal.type("1234\n")
    #expect(terminal.end() == 0)
    #expect(terminal.text.contains("keep slot 1: security key (Ada's"))
    #expect(terminal.text.ranges(of: "PIN of Ada's").count == 1)
  }

  @Test func `a revocation drops the slot of a lost key only once it was removed`() throws {
    let (lost, spare) = try (SoftwareKey(pin: ""), SoftwareKey(pin: ""))
    try #require(tool.run("session-tools init other").status == 0)
    for (key, label) in [(lost, "lost"), (spare, "spare")] {
      let added = try tool.run(
        "session-tools slots add other --new-security-key --touch-only --label \(label)",
        environment: SoftwareKey.environment(of: [key]))
      try #require(added.status == 0, "\(added.complaint)")
    }
    let command = "session-tools rotate other --revoke --yes --keep-security-key"
    for key in [spare, lost] {
      let refused = try tool.run(command, environment: SoftwareKey.environment(of: [key]))
      #expect(refused.status == 4)
      #expect(refused.complaint.contains(key === lost ? "slot 3 (spare)" : "slot 2 (lost)"))
      #expect(
        refused.complaint.contains("session-tools slots remove other \(key === lost ? 3 : 2)"))
    }
    #expect(try tool.run("session-tools slots remove other 2").status == 0)
    let revoked = try tool.run(command, environment: SoftwareKey.environment(of: [spare]))
    #expect(revoked.status == 0)
    #expect(revoked.complaint.contains("keep slot 2: security key (spare; touch alone)"))
    #expect(revoked.complaint.contains("drop none"))
    let none = try tool.run(
      "session-tools get other --service mail token --security-key",
      environment: SoftwareKey.environment(of: [lost]))
    #expect(none.status == 4)
  }

  @Test func `a wrong PIN at the second slot of a revocation changes nothing`() throws {
    let other = try SoftwareKey(pin: "9876")
    try #require(tool.run("session-tools init other").status == 0)
    for (key, label, pin) in [(key, "Ada's", "1234"), (other, "Bob's", "9876")] {
      let terminal = try begin(
        "slots", "add", "other", "--new-security-key", "--label", label, with: [key])
      try #require(terminal.shows("PIN of \(label)"))
      terminal.type("\(pin)\n")
      try #require(terminal.end() == 0)
    }
    let list = "session-tools slots list other; md5sum other/header other/journal"
    let before = try tool.run(list)
    let terminal = try begin(
      "rotate", "other", "--revoke", "--yes", "--keep-security-key", with: [key, other])
    #expect(terminal.shows("PIN of Ada's"))
    terminal.type("1234\n")
    #expect(terminal.shows("PIN of Bob's"))
    terminal.type("0000\n")
    #expect(terminal.end() == 5)
    #expect(terminal.text.contains("other: key slot 3 (Bob's): the PIN is wrong, 7 tries left"))
    #expect(terminal.text.contains("session-tools slots remove other 3"))
    #expect(try tool.run(list).output == before.output)
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
