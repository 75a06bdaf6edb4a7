import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The tool in front of a person at a terminal.
@Suite(.onOwnThread, .serialized) struct TerminalTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
  }

  private func makeStoreWithPassphrase() throws {
    let outcome = try tool.run(
      "printf geheim | session-tools init store --passphrase-fd 0 --passphrase-memory 8 "
        + "--passphrase-passes 1")
    try #require(outcome.status == 0)
  }

  @Test func initAsksTwiceForAPassphraseThatIsNotShown() throws {
    let terminal = try PseudoTerminal(
      tool, "init", "store", "--passphrase", "--passphrase-memory", "8", "--passphrase-passes", "1")
    for question in ["New passphrase for store: ", "Repeat the passphrase: "] {
      #expect(terminal.shows(question))
      #expect(!terminal.echoes)
      terminal.type("geheim\n")
    }
    #expect(terminal.end() == 0)
    #expect(terminal.echoes)
    #expect(!terminal.text.contains("geheim"))
    #expect(try tool.run("printf geheim | session-tools list store --passphrase-fd 0").status == 0)
  }

  @Test func twoDifferentPassphrasesMakeNoStore() throws {
    let terminal = try PseudoTerminal(tool, "init", "store", "--passphrase")
    #expect(terminal.shows("New passphrase for store: "))
    terminal.type("one\n")
    #expect(terminal.shows("Repeat the passphrase: "))
    terminal.type("two\n")
    #expect(terminal.end() == 64)
    #expect(!FileManager.default.fileExists(atPath: tool["store"]))
  }

  @Test func aStoreThatIsNotKnownIsOpenedByARecipientsKeyOnceItsFingerprintIsAccepted() throws {
    let made = try tool.run(
      "session-tools recipient create key && session-tools init store && "
        + "session-tools slots add store --new-recipient $(session-tools recipient show key) && "
        + "session-tools verify store && rm -r data/session-tools/known-stores")
    try #require(made.status == 0)
    let fingerprint = try #require(made.text.firstMatch(of: /st-store-[\w-]{27}/)).output
    for answer in ["no", "yes"] {
      let terminal = try PseudoTerminal(tool, "list", "store", "--recipient-key", "key")
      #expect(terminal.shows("Its fingerprint is \(fingerprint)."))
      #expect(terminal.shows("where the store was made?"))
      terminal.type(answer + "\n")
      #expect(terminal.end() == (answer == "yes" ? 0 : 4))
      let later = try tool.run("session-tools list store --recipient-key key")
      #expect(later.status == (answer == "yes" ? 0 : 5))
    }
  }

  @Test func aStoreWithAPassphraseAsksForIt() throws {
    try makeStoreWithPassphrase()
    let terminal = try PseudoTerminal(tool, "list", "store")
    #expect(terminal.shows("Passphrase for store: "))
    #expect(!terminal.echoes)
    terminal.type("geheim\n")
    #expect(terminal.end() == 0)
  }

  @Test(arguments: [[], ["--passphrase"]])
  func theThirdWrongPassphraseIsTheLast(_ options: [String]) throws {
    try makeStoreWithPassphrase()
    let terminal = try PseudoTerminal(tool, [Tool.program, "list", "store"] + options)
    for number in 1...3 {
      #expect(terminal.shows("Passphrase for store: "))
      #expect(!terminal.echoes)
      terminal.type("falsch\n")
      if number < 3 { #expect(terminal.shows("The passphrase does not open store. Try again.")) }
    }
    #expect(terminal.shows("session-tools: store: the passphrase does not open it."))
    #expect(terminal.end() == 5)
    #expect(terminal.echoes)
    #expect(!terminal.text.contains("falsch"))
  }

  @Test func aWrongPassphraseCanBeTypedAgain() throws {
    try makeStoreWithPassphrase()
    let terminal = try PseudoTerminal(tool, "list", "store")
    for passphrase in ["falsch", "geheim"] {
      #expect(terminal.shows("Passphrase for store: "))
      terminal.type(passphrase + "\n")
    }
    #expect(terminal.end() == 0)
  }

  @Test func withoutAPersonAtStandardInputAWrongPassphraseIsTheLast() throws {
    try makeStoreWithPassphrase()
    let terminal = try PseudoTerminal(
      tool,
      ["bash", "-c", "printf value | session-tools set store --service mail token"])
    #expect(terminal.shows("Passphrase for store: "))
    terminal.type("falsch\n")
    #expect(terminal.end() == 5)
    #expect(!terminal.text.contains("Try again"))
  }

  @Test func aWrongPassphraseFromAFileIsNotAskedForAgain() throws {
    try makeStoreWithPassphrase()
    try tool.run("umask 077; printf falsch > passphrase")
    let terminal = try PseudoTerminal(tool, "list", "store", "--passphrase-file", "passphrase")
    #expect(terminal.end() == 5)
    #expect(!terminal.text.contains("Passphrase for"))
  }

  @Test func nobodyIsAskedWithNoInput() throws {
    try makeStoreWithPassphrase()
    let terminal = try PseudoTerminal(tool, "list", "store", "--no-input")
    #expect(terminal.end() == 4)
    #expect(!terminal.text.contains("Passphrase for"))
  }

  @Test func controlCAtAQuestionBringsEchoBackAndEndsTheTool() throws {
    try makeStoreWithPassphrase()
    let terminal = try PseudoTerminal(tool, "list", "store")
    #expect(terminal.shows("Passphrase for store: "))
    #expect(!terminal.echoes)
    terminal.type("geh\u{3}")
    #expect(terminal.end() == 128 + SIGINT)
    #expect(terminal.echoes)
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGQUIT])
  func aSignalAtAQuestionBringsEchoBackAndEndsTheTool(_ signal: Int32) throws {
    try makeStoreWithPassphrase()
    let terminal = try PseudoTerminal(tool, "list", "store")
    #expect(terminal.shows("Passphrase for store: "))
    kill(terminal.process, signal)
    #expect(terminal.end() == 128 + signal)
    #expect(terminal.echoes)
  }

  @Test func aToolStoppedAtAQuestionGoesOnWithIt() throws {
    try makeStoreWithPassphrase()
    // In a session without a shell, the kernel stops no process for SIGTSTP.
    let terminal = try PseudoTerminal(tool, "list", "store")
    #expect(terminal.shows("Passphrase for store: "))
    kill(terminal.process, SIGSTOP)
    #expect(terminal.isStopped())
    terminal.resume()
    terminal.type("geheim\n")
    #expect(terminal.end() == 0)
  }

  @Test func theEndOfTheInputDismissesAQuestion() throws {
    try makeStoreWithPassphrase()
    let terminal = try PseudoTerminal(tool, "list", "store")
    #expect(terminal.shows("Passphrase for store: "))
    terminal.type("\u{4}")
    #expect(terminal.end() == 4)
  }

  @Test func setAsksForTheValueWithoutShowingItAndGetEndsItWithANewline() throws {
    try tool.run("session-tools init store")
    let setting = try PseudoTerminal(tool, "set", "store", "--service", "mail", "token")
    #expect(setting.shows("Value of token of mail: "))
    #expect(!setting.echoes)
    setting.type("s3cret\n")
    #expect(setting.shows("Repeat the value: "))
    #expect(!setting.echoes)
    setting.type("s3cret\n")
    #expect(setting.end() == 0)
    #expect(setting.text.contains("store: token of mail stored"))
    #expect(!setting.text.contains("s3cret"))
    #expect(try tool.run("session-tools get store --service mail token").text == "s3cret")

    let getting = try PseudoTerminal(tool, "get", "store", "--service", "mail", "token")
    #expect(getting.end() == 0)
    #expect(getting.text == "s3cret\r\n")
  }

  /// As from a terminal that another program has left in the mode for it.
  @Test(arguments: ["\u{1B}[200~s3cret\u{1B}[201~", "\u{1B}[200~s3cret", "s3cret\u{1B}[201~"])
  func whatATerminalSendsAroundAPastedTextIsNoPartOfTheValue(pasted: String) throws {
    try tool.run("session-tools init store")
    let setting = try PseudoTerminal(tool, "set", "store", "--service", "mail", "token")
    #expect(setting.shows("Value of token of mail: "))
    setting.type("\(pasted)\n")
    #expect(setting.shows("Repeat the value: "))
    setting.type("s3cret\n")
    #expect(setting.end() == 0)
    #expect(try tool.run("session-tools get store --service mail token").text == "s3cret")
  }

  @Test func setWithNoInputDoesNotWaitForTheTerminal() throws {
    try tool.run("session-tools init store")
    let terminal = try PseudoTerminal(
      tool, "set", "store", "--no-input", "--service", "mail", "token")
    #expect(terminal.end() == 64)
  }

  @Test func aLineThatTheTerminalWouldCutIsRefused() throws {
    try tool.run("session-tools init store")
    let terminal = try PseudoTerminal(tool, "set", "store", "--service", "mail", "token")
    #expect(terminal.shows("Value of token of mail: "))
    // Beyond 4,095 bytes the kernel drops typed text, except for the end of the line.
    for _ in 0..<50 { terminal.type(String(repeating: "x", count: 100)) }
    terminal.type("\n")
    #expect(terminal.end() == 64)
    #expect(try tool.run("session-tools get store --service mail token").status == 3)
  }

  @Test func listAlignsColumnsAndMakesControlsVisible() throws {
    try tool.run("session-tools init store")
    try tool.run("printf 1 | session-tools set store --service mail --group team token")
    try tool.run(
      "printf 1 | session-tools set store --service $'e\\e]0;x\\avil' $'a\\tb\\\\\u{9b}c'")
    let terminal = try PseudoTerminal(tool, "list", "store")
    #expect(terminal.end() == 0)
    let time = /[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}/
    #expect(
      terminal.text.replacing(time, with: "YYYY-MM-DD HH:MM") == """
        SERVICE              GROUP  CHANGED           IDENTIFIER\r
        e\\u{1b}]0;x\\u{7}vil         YYYY-MM-DD HH:MM  a\\tb\\\\\\u{9b}c\r
        mail                 team   YYYY-MM-DD HH:MM  token\r

        """)
  }

  @Test func errorsMakeControlsVisible() throws {
    try tool.run("session-tools init store")
    let outcome = try tool.run("session-tools get store --service mail $'\\e[2Jtoken'")
    #expect(outcome.status == 3)
    #expect(!outcome.complaint.contains("\u{1b}"))
    let missing = try tool.run("session-tools list $'\\e[2Jstore'")
    #expect(!missing.complaint.contains("\u{1b}"))
    let usage = try tool.run("session-tools list store $'--\\e[2J'")
    #expect(usage.status == 64)
    #expect(!usage.complaint.contains("\u{1b}"))
  }

  @Test(arguments: [("y", 0 as Int32), ("n", 1), ("", 1)])
  func aRevocationAsksFirst(_ answer: String, status: Int32) throws {
    try tool.run("session-tools init store; session-tools slots add store --new-key-file other")
    let terminal = try PseudoTerminal(tool, "rotate", "store", "--revoke")
    #expect(terminal.shows("keep slot 1: key file"))
    #expect(terminal.shows("drop slot 2: key file"))
    #expect(terminal.shows("Continue? [y/N] "))
    terminal.type(answer + "\n")
    #expect(terminal.end() == status)
    let other = try tool.run("session-tools list store --key-file other")
    #expect(other.status == (status == 0 ? 5 : 0))
  }

  @Test func aKeyThatNoLongerFitsGivesWayToThePassphrase() throws {
    try tool.run(
      "session-tools init store; session-tools slots add store --new-key-file other; "
        + "printf geheim | session-tools slots change store 1 --new-passphrase-fd 0 "
        + "--passphrase-memory 8 --passphrase-passes 1")
    let terminal = try PseudoTerminal(tool, "list", "store")
    #expect(terminal.shows("Passphrase for store: "))
    terminal.type("geheim\n")
    #expect(terminal.end() == 0)
  }

  @Test func slotsAddAsksForANewPassphrase() throws {
    try tool.run("session-tools init store")
    let terminal = try PseudoTerminal(
      tool, "slots", "add", "store", "--passphrase-memory", "8", "--passphrase-passes", "1")
    #expect(terminal.shows("New passphrase for store: "))
    terminal.type("geheim\n")
    #expect(terminal.shows("Repeat the passphrase: "))
    terminal.type("geheim\n")
    #expect(terminal.end() == 0)
  }

  @Test func valuesInPlainTextAreNotShownOnATerminal() throws {
    #expect(try tool.run("session-tools init store").status == 0)
    #expect(try tool.run("printf geheim | session-tools set store --service s i").status == 0)
    let terminal = try PseudoTerminal(tool, "export", "store", "--plaintext", "-")
    #expect(terminal.end() == 64)
    #expect(!terminal.text.contains("geheim"))
  }

  @Test func controlCLeavesAMigrationThatCanBeResumedOrTakenBack() throws {
    let key = try KeyFile.create(at: tool["key"])
    let store = try SealedFileStore.create(at: tool["from"], key: key)
    _ = try SealedFileStore.create(at: tool["to"], key: key)
    let words = [
      "migrate", "--from", "from", "--from-key-file", "key", "--to", "to", "--to-key-file", "key",
    ]
    func migrate() throws -> PseudoTerminal {
      try PseudoTerminal(tool, [Tool.program] + words + ["--delete-source"])
    }
    let line = words.joined(separator: " ")
    // Progress is shown after half a second, for which a fast machine needs more items. On a busy
    // one, copying may have begun by the time this test types.
    var count = 0
    var wasStoppedWhilePlanning = false
    while !wasStoppedWhilePlanning, count < 320_000 {
      let newCount = max(20_000, 2 * count)
      try store.apply(
        (count..<newCount).map {
          .put(SecretBytes(utf8: "geheim"), for: try ItemName("\($0)", in: "s"))
        })
      count = newCount
      let terminal = try migrate()
      if terminal.shows("planning [") { terminal.type("\u{3}") }
      let status = terminal.end()
      wasStoppedWhilePlanning = terminal.text.contains("stopped; nothing was changed")
      if wasStoppedWhilePlanning {
        #expect(status == 128 + SIGINT)
      } else {
        #expect(try tool.run("session-tools \(line) --undo").status == 0)
        #expect(try tool.run("session-tools \(line) --close").status == 0)
      }
    }
    #expect(wasStoppedWhilePlanning)
    #expect(!FileManager.default.fileExists(atPath: tool["to.migration"]))

    let terminal = try migrate()
    #expect(terminal.shows("copying ["))
    terminal.type("\u{3}")
    #expect(terminal.shows("stopped; continue with --resume, or undo it with --undo"))
    #expect(terminal.end() == 128 + SIGINT)
    #expect(!terminal.text.contains("geheim"))
    let resumed = try tool.run("session-tools \(line) --resume")
    #expect(resumed.status == 0)
    #expect(resumed.text == "\(count) items migrated and compared, 0 failed\n")
    #expect(try store.names(in: nil).isEmpty)
    #expect(try tool.run("session-tools \(line) --undo").status == 0)
    #expect(try store.names(in: nil).count == count)
  }

  @Test func controlCIsAnsweredWhileAnItemOfASlowSourceIsRead() async throws {
    try tool.run(
      "session-tools init to && mkdir bin passwords && touch passwords/{a,b}.gpg && "
        + "printf '#!/bin/sh\\ntouch started\\nuntil test -e go; do sleep 0.01; done\\n' "
        + "> bin/gpg && chmod +x bin/gpg")
    let path = tool.environment["PATH"] ?? ""
    let terminal = try PseudoTerminal(
      tool, "migrate", "--from", "pass:passwords", "--to", "to", "--allow-weaker",
      environment: ["PATH": "\(tool["bin"]):\(path)"])
    let started = tool["started"]
    try await wait(until: "gpg runs") { FileManager.default.fileExists(atPath: started) }
    terminal.type("\u{3}")
    #expect(terminal.shows("stopping after the present item"))
    try tool.run("touch go")
    #expect(terminal.shows("stopped; nothing was changed"))
    #expect(terminal.end() == 128 + SIGINT)
    #expect(!FileManager.default.fileExists(atPath: tool["to.migration"]))
  }
}
