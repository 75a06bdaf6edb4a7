import SessionToolsBusTestSupport
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The keys that `unlock` keeps in the agent.
@Suite(.onOwnThread) struct AgentTests {
  private let stage: AgentStage

  init() throws {
    stage = try AgentStage()
  }

  @Test func anUnlockedStoreOpensWithoutAPassphraseUntilItIsLocked() async throws {
    try stage.makeStore()
    #expect(try !stage.opens())
    let unlocked = try stage.unlock()
    #expect(unlocked.status == 0)
    #expect(unlocked.complaint.hasPrefix("store: nothing here reports sleep, a locked desktop or"))
    #expect(unlocked.complaint.hasSuffix("\nstore: unlocked for 1 hour\n"))
    #expect(try stage.run("printf 1 | session-tools set store --service s x").status == 0)
    #expect(try stage.run("session-tools get store --no-input --service s x").text == "1")
    #expect(try stage.run("session-tools doctor store").text.contains("the key kept by unlock"))
    #expect(try stage.run("session-tools lock store").status == 0)
    #expect(try !stage.opens())
    try await wait(until: "the agent ends with its last key") { !stage.hasSocket }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can start another systemd"))
  func systemdStartsTheAgentBehindItsSocket() throws {
    try stage.makeStore()
    let outcome = try runBesideSystemd(
      """
      systemctl --user start session-tools-agent.socket || exit
      printf geheim | session-tools unlock store --passphrase-fd 0 2>unlocked
      systemctl --user is-active session-tools-agent.service
      session-tools list store && echo open
      session-tools lock store
      session-tools list store 2>locked || echo closed
      systemctl --user is-active session-tools-agent.socket
      """)
    #expect(outcome.text == "active\nopen\nclosed\nactive\n", "\(outcome.complaint)")
  }

  // A socket unit takes the name from the agent that `unlock` started before: that one wipes its
  // keys, and the next `unlock` reaches systemd's.
  @Test(.enabled(if: geteuid() == 0, "only root can start another systemd"))
  func systemdTakesTheSocketOfAnAgentThatRuns() throws {
    try stage.makeStore()
    let outcome = try runBesideSystemd(
      as: "taken-agent",
      """
      printf geheim | session-tools unlock store --passphrase-fd 0 2>unlocked
      session-tools list store && echo open
      systemctl --user start taken-agent.socket || exit
      session-tools list store 2>locked || echo closed
      printf geheim | session-tools unlock store --passphrase-fd 0 2>unlocked || cat unlocked
      systemctl --user is-active taken-agent.service
      session-tools list store && echo open
      session-tools lock store
      session-tools list store 2>locked || echo closed
      """)
    #expect(outcome.text == "open\nclosed\nactive\nopen\nclosed\n", "\(outcome.complaint)")
  }

  // Runs a script beside a systemd that has the agent's units, in a mount namespace with a runtime
  // directory of its own. Two managers that have units of one name also have their control groups,
  // and each ends what it finds there.
  private func runBesideSystemd(
    as name: String = "session-tools-agent", _ script: String
  ) throws -> Tool.Outcome {
    let units = stage.tool["units"]
    try FileManager.default.createDirectory(
      atPath: units, withIntermediateDirectories: false)
    for kind in ["socket", "service"] {
      let unit = "Sources/session-tools/Installation/user/session-tools-agent.\(kind)"
      try String(contentsOfFile: "\(SourceDirectory.path)/\(unit)", encoding: .utf8)
        .replacing("@PREFIX@/bin/session-tools", with: Tool.program)
        .write(toFile: "\(units)/\(name).\(kind)", atomically: false, encoding: .utf8)
    }
    return try stage.tool.run(
      """
      unshare --mount --propagation private \
      '\(SourceDirectory.path)/Tests/Services/UserManager/with-manager' '\(units)' '\(script)'
      """, environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"])
  }

  @Test func aPersonIsAskedOnce() throws {
    try stage.makeStore()
    let unlocking = try PseudoTerminal(
      stage.tool, "unlock", "store", environment: stage.environment)
    #expect(unlocking.shows("Passphrase for store: "))
    unlocking.type("geheim\n")
    #expect(unlocking.shows("store: unlocked for 15 minutes"))
    #expect(unlocking.end() == 0)
    let listing = try PseudoTerminal(stage.tool, "list", "store", environment: stage.environment)
    #expect(listing.end() == 0)
    #expect(!listing.text.contains("Passphrase for"))
    // Keeping the key for longer takes the passphrase again.
    let again = try PseudoTerminal(stage.tool, "unlock", "store", environment: stage.environment)
    #expect(again.shows("Passphrase for store: "))
    again.type("\u{4}")
    #expect(again.end() == 4)
  }

  @Test func aWrongPassphraseUnlocksNothing() throws {
    try stage.makeStore()
    let outcome = try stage.run("printf falsch | session-tools unlock store --passphrase-fd 0")
    #expect(outcome.status == 5)
    #expect(!stage.hasSocket)
  }

  @Test(arguments: ["0s", "25h", "15", "m", "1.5h", "-1m", "99999999999s", "1d"])
  func anInvalidTimeIsRefused(_ time: String) throws {
    let outcome = try stage.run("session-tools unlock store --for='\(time)'")
    #expect(outcome.status == 64)
    #expect(outcome.complaint.contains("Write a time from 1s to 24h"))
  }

  @Test func eachKeyEndsWithItsTime() async throws {
    for name in ["long", "short"] { try stage.makeStore(name) }
    // The second time counts for it, and ends after that of the other store.
    try stage.unlock("long", for: "1s")
    try stage.unlock("long", for: "1h")
    try stage.unlock("short", for: "1s")
    try await wait(until: "the key ends") { try !stage.opens("short") }
    #expect(try stage.opens("long"))
  }

  @Test func theAgentEndsWithTheLastTime() async throws {
    try stage.makeStore()
    try stage.unlock(for: "1s")
    try await wait(until: "the agent ends") { !stage.hasSocket }
    #expect(try !stage.opens())
  }

  @Test func storesAreLockedOneByOneOrTogether() throws {
    for name in ["one", "two", "three"] {
      try stage.makeStore(name)
      try stage.unlock(name)
    }
    try stage.run("session-tools lock one")
    #expect(try !stage.opens("one"))
    #expect(try stage.opens("two"))
    #expect(try stage.opens("three"))
    try stage.run("session-tools lock")
    #expect(try !stage.opens("two"))
    #expect(try !stage.opens("three"))
  }

  @Test func lockingWithoutAnAgentDoesNothing() throws {
    try stage.makeStore()
    for line in ["session-tools lock", "session-tools lock store"] {
      let outcome = try stage.run(line)
      #expect(outcome.status == 0)
      #expect(outcome.complaint.isEmpty)
    }
    #expect(!stage.hasSocket)
  }

  @Test func manyUnlocksAtOnceStartOneAgent() throws {
    let names = (1...6).map { "store\($0)" }
    for name in names { try stage.makeStore(name) }
    let jobs = names.map {
      "(printf geheim | session-tools unlock \($0) --passphrase-fd 0 || touch failed) & "
    }
    try stage.run(jobs.joined() + "wait")
    #expect(!FileManager.default.fileExists(atPath: stage.tool["failed"]))
    // There is one socket, so the agent behind it has all keys.
    for name in names { #expect(try stage.opens(name)) }
  }

  @Test func aKeyFromAFileOpensTheStoreWithoutTheFile() throws {
    try stage.run("session-tools init store --key-file key")
    #expect(try stage.run("session-tools unlock store --key-file key; rm key").status == 0)
    #expect(try stage.opens())
  }

  @Test func aRotationLeavesTheKeyValid() throws {
    try stage.makeStore()
    try stage.unlock()
    #expect(
      try stage.run("printf geheim | session-tools rotate store --passphrase-fd 0").status == 0)
    #expect(try stage.opens())
    #expect(try stage.run("session-tools rotate store").status == 0)
    #expect(try stage.opens())
  }

  @Test(arguments: [
    "rotate store --key-file other --revoke --yes", "slots remove store 1 --key-file other",
  ])
  func aKeyWhoseSlotIsGoneOpensNothingAndIsForgotten(_ change: String) throws {
    try stage.makeStore()
    try stage.run(
      "printf geheim | session-tools slots add store --passphrase-fd 0 --new-key-file other")
    try stage.unlock()
    #expect(try stage.opens())
    #expect(try stage.run("session-tools \(change)").status == 0)
    let notice = "The key kept by unlock no longer opens store, and is forgotten."
    let first = try stage.run("session-tools list store")
    #expect(first.status == 4)
    #expect(first.complaint.contains(notice))
    #expect(try !stage.run("session-tools list store").complaint.contains(notice))
  }

  @Test func aProgramOpensTheStoreWithTheAgentsKeyOrLearnsWhatToDo() throws {
    try stage.makeStore()
    let key = AgentKey(
      forStoreAt: stage.tool["store"], agent: KeyAgent(directoryPath: stage.directory))
    func open() throws(StoreError) -> SealedFileStore {
      try SealedFileStore.open(at: stage.tool["store"], key: key)
    }
    let remedy = "Run session-tools unlock \(stage.tool["store"])"
    // Before there is an agent, and then while it keeps only another store's key.
    for isAgentThere in [false, true] {
      #expect(stage.hasSocket == isAgentThere)
      let error = #expect(throws: StoreError.self) { try open() }
      #expect(error?.code == .locked)
      #expect(error?.remedy == remedy)
      try stage.makeStore("other\(isAgentThere)")
      try stage.unlock("other\(isAgentThere)")
    }
    try stage.unlock()
    let store = try open()
    store.lock()
    try store.unlock(with: key)
    try stage.run("session-tools lock")
    // It stays open, and cannot be opened again.
    #expect(try store.names(in: nil).isEmpty)
    store.lock()
    #expect(throws: StoreError.self) { try store.unlock(with: key) }
  }

  @Test func aMigrationNeedsAnotherKeyThanTheAgentsForItsJournal() throws {
    for name in ["from", "to"] {
      try stage.makeStore(name)
      try stage.unlock(name)
    }
    let outcome = try stage.run("session-tools migrate --from from --to to")
    #expect(outcome.complaint.contains("the agent keeps no key for a new slot"))
    #expect(!FileManager.default.fileExists(atPath: stage.tool["to.migration"]))
  }

  // MARK: - The agent's end

  @Test func afterAnAgentWasKilledTheNextOneReplacesItsSocket() throws {
    try stage.makeStore()
    try stage.unlock()
    kill(try stage.process(), SIGKILL)
    #expect(try !stage.opens())
    #expect(stage.hasSocket)
    #expect(try stage.run("session-tools lock").status == 0)
    #expect(try stage.unlock().status == 0)
    #expect(try stage.opens())
  }

  @Test func theAgentEndsWhenTheRuntimeDirectoryIsRemoved() async throws {
    try stage.makeStore()
    try stage.unlock()
    let process = try stage.process()
    #expect(try stage.isRunning(process))
    try stage.run("rm -r run/session-tools")
    try await wait(until: "the agent ends") { try !stage.isRunning(process) }
  }

  // Root may look into a process that shuts out its own user.
  @Test(.enabled(if: geteuid() == 0, "only root may look at the agent's files"))
  func theAgentHasNoTerminalAndNoFilesOfTheProgramThatStartedIt() throws {
    try stage.makeStore()
    try stage.run("umask 077; printf geheim > passphrase; mkfifo pipe")
    let unlocking = try PseudoTerminal(
      stage.tool,
      [
        "bash", "-c",
        "exec 7<> pipe; session-tools unlock store --passphrase-fd 3 3< passphrase",
      ], environment: stage.environment)
    #expect(unlocking.end() == 0)
    let process = try stage.process()
    let files = try stage.run("readlink /proc/\(process)/fd/*").text
    #expect(files.contains("socket:"))
    for name in ["passphrase", "pipe\n", "/dev/pts"] { #expect(!files.contains(name)) }
    #expect(try stage.run("readlink /proc/\(process)/cwd").text == "/\n")
    // The session, which it leads, and the number of its terminal: proc(5).
    #expect(try stage.run("cut -d ' ' -f 6,7 /proc/\(process)/stat").text == "\(process) 0\n")
  }

  @Test func aLockOfTheDesktopAndSleepWipeTheKeys() async throws {
    let bus = try await PrivateBus()
    let logind = try await MockLogind(on: bus)
    let stage = try AgentStage(systemBus: bus.address)
    try stage.makeStore()
    for event in ["lock", "sleep"] {
      try stage.unlock()
      // The agent listens once it delays sleep.
      try await wait(until: "the agent listens") { try await logind.inhibitorCount() == 1 }
      #expect(try stage.opens())
      if event == "lock" {
        try await logind.request(isLock: true)
      } else {
        try await logind.announce(sleep: true)
      }
      try await wait(until: "the key is wiped") { try !stage.opens() }
      try await wait(until: "the machine may sleep") { try await logind.inhibitorCount() == 0 }
    }
  }

  @Test func logindThatStartsAfterTheAgentEndsKeys() async throws {
    let bus = try await PrivateBus()
    let stage = try AgentStage(systemBus: bus.address)
    try stage.makeStore()
    try stage.unlock()
    let process = try stage.process()
    let logind = try await MockLogind(on: bus)
    try stage.unlock()
    #expect(try stage.process() == process)
    try await wait(until: "the agent listens") { try await logind.inhibitorCount() == 1 }
    try await logind.request(isLock: true)
    try await wait(until: "the key is wiped") { try !stage.opens() }
  }

  @Test(.enabled(if: geteuid() == 0, "only root may mount"))
  func aUserWhoLingersIsWarnedThatLogoutEndsNoKey() throws {
    func doctor(lingering: Bool) throws -> String {
      try stage.run(
        """
        unshare --mount --propagation private bash -c '
          mount -t tmpfs run /run && mount -t tmpfs lib /var/lib && mkdir -p -m 700 /run/user/0
          mkdir -p /var/lib/systemd/linger
          \(lingering ? "touch /var/lib/systemd/linger/root" : "true")
          XDG_RUNTIME_DIR=/run/user/0 session-tools doctor store --no-input' || true
        """
      ).text
    }
    try stage.makeStore()
    #expect(try !doctor(lingering: false).contains("logout:"))
    #expect(try doctor(lingering: true).contains("or logout ("))
  }
}
