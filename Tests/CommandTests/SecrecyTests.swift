import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The places where no secret may appear.
@Suite(.onOwnThread) struct SecrecyTests {
  private let passphrase = "korrekt-pferd-batterie"
  private let value = "der-wert-der-geheim-bleibt"

  @Test func noSecretIsInWhatIsWrittenOrSaid() throws {
    let tool = try Tool()
    let outcomes = [
      try tool.run(
        "printf \(passphrase) | session-tools init store --passphrase-fd 0 "
          + "--passphrase-memory 8 --passphrase-passes 1"),
      try tool.run(
        "session-tools slots add store --passphrase-fd 3 --new-key-file key "
          + "3< <(printf \(passphrase))"),
      try tool.run("printf \(value) | session-tools set store --key-file key --service s x"),
      try tool.run(
        "printf \(value) | session-tools set store --key-file key --no-overwrite --service s x"),
      try tool.run("printf \(value) | session-tools list store --passphrase-fd 0"),
      try tool.run("session-tools list store --key-file key --json"),
      try tool.run("session-tools verify store --key-file key --json"),
      try tool.run("session-tools slots list store --json"),
      try tool.run("session-tools doctor store --key-file key --json"),
      try tool.run("session-tools rotate store --key-file key"),
    ]
    #expect(outcomes.map(\.status) == [0, 0, 0, 7, 5, 0, 0, 0, 0, 0])
    for outcome in outcomes {
      #expect(!mentionsSecret(outcome.output))
      #expect(!mentionsSecret(Data(outcome.complaint.utf8)))
    }
    let files = FileManager.default.enumerator(atPath: tool.path)
    while let name = files?.nextObject() as? String {
      guard let content = FileManager.default.contents(atPath: tool[name]) else { continue }
      #expect(!mentionsSecret(content), "\(name)")
    }
  }

  @Test func noSecretIsInArgumentsOrEnvironmentAndNoCoreIsDumped() throws {
    let tool = try Tool()
    try tool.run(
      "printf \(passphrase) | session-tools init store --passphrase-fd 0 "
        + "--passphrase-memory 8 --passphrase-passes 1")
    let terminal = try PseudoTerminal(
      tool, "set", "store", "--service", "s", "x")
    #expect(terminal.shows("Passphrase for store: "))
    terminal.type(passphrase + "\n")
    // The store is open now, and the keys are in memory.
    #expect(terminal.shows("Value of x of s: "))
    for file in ["cmdline", "environ"] {
      let content = FileManager.default.contents(atPath: "/proc/\(terminal.process)/\(file)")
      #expect(content.map(mentionsSecret) == false)
    }
    let limits = try String(
      contentsOf: URL(filePath: "/proc/\(terminal.process)/limits"), encoding: .utf8)
    #expect(limits.contains(#/Max core file size +0 +0 /#))
    kill(terminal.process, SIGQUIT)
    #expect(terminal.end() == 128 + SIGQUIT)
    // Swift's runtime would have reported the crash with registers and memory.
    #expect(!terminal.text.contains("crashed"))
  }

  private func mentionsSecret(_ data: Data) -> Bool {
    [passphrase, value].contains { data.range(of: Data($0.utf8)) != nil }
  }
}
