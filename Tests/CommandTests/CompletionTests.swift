import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct CompletionTests {
  @Test(arguments: ["bash", "zsh", "fish"])
  func aCompletionScriptIsWhatItsShellReads(_ shell: String) throws {
    let tool = try Tool()
    let script = try tool.run("session-tools --generate-completion-script \(shell)")
    #expect(script.status == 0)
    #expect(script.complaint.isEmpty)
    for word in ["init", "slots", "rotate", "keep-key-file", "passphrase-fd"] {
      #expect(script.text.contains(word))
    }
    #expect(!script.text.contains("demo-reader"))
    let check = try tool.run(
      "command -v \(shell) > /dev/null || exit 0; "
        + "session-tools --generate-completion-script \(shell) > script && \(shell) -n script")
    #expect(check.status == 0, "\(check.complaint)")
  }
  /// Answers as the tool does for a shell, which asks in this form.
  private func names(
    _ tool: Tool, _ command: String, _ argument: String, typed words: String,
    environment: [String: String] = [:]
  ) throws -> [String] {
    let outcome = try tool.run(
      "session-tools ---completion \(command) -- \(argument) 0 0 session-tools \(command) \(words)",
      environment: environment)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(outcome.complaint.isEmpty)
    return outcome.text.split(separator: "\n").map(String.init)
  }

  /// Answers until names of items are among the answers.
  ///
  /// The tool has 0.2 s to open the store, too little on a busy machine; it then offers none.
  private func offered(
    _ tool: Tool, _ command: String, _ argument: String, typed words: String,
    environment: [String: String] = [:]
  ) throws -> [String] {
    for _ in 1..<30 {
      let found = try names(tool, command, argument, typed: words, environment: environment)
      if found.contains(where: { !$0.hasSuffix("/") }) { return found }
    }
    return try names(tool, command, argument, typed: words, environment: environment)
  }

  private func toolWithItems() throws -> Tool {
    let tool = try Tool()
    let made = try tool.run(
      "session-tools init store; for item in token key '$(touch hacked)' 'a:b'; do "
        + "printf 1 | session-tools set store --service mail \"$item\"; done; "
        + "printf 1 | session-tools set store --service web login")
    try #require(made.status == 0)
    return tool
  }

  @Test func namesAreOfferedWhereAKeyFileOpensTheStore() throws {
    let tool = try toolWithItems()
    #expect(
      try offered(tool, "get", "positional@1", typed: "store ''") == ["key", "login", "token"])
    let inMail = "store --service mail ''"
    #expect(try offered(tool, "get", "positional@1", typed: inMail) == ["key", "token"])
    #expect(try offered(tool, "get", "--service", typed: "store --service ''") == ["mail", "web"])
    #expect(
      try offered(
        tool, "get", "positional@0", typed: "''",
        environment: ["SESSION_TOOLS_STORE": tool["store"]]
      ).contains("token"))
    #expect(try names(tool, "get", "positional@0", typed: "''") == ["data/", "home/", "store/"])
  }

  @Test func noShellWaitsForAnotherProcessThatHoldsTheLock() throws {
    let tool = try toolWithItems()
    // Behind the mark is a change that only the holder of the lock may recover.
    let unrecovered = try tool.run(
      "cp store/mark mark && printf 1 | session-tools set store --service mail more "
        + "&& cat mark > store/mark")
    try #require(unrecovered.status == 0)
    let fileSystem = LinuxFileSystem()
    let lock = try fileSystem.open(tool["store/lock"], in: .workingDirectory, .readWrite)
    try #require(try fileSystem.tryLock(lock, byte: 0))
    let start = ContinuousClock.now
    #expect(try names(tool, "get", "positional@1", typed: "store ''") == [])
    #expect(ContinuousClock.now - start < .seconds(8), "a change waits for 10 seconds")
    fileSystem.close(lock)
    #expect(try offered(tool, "get", "positional@1", typed: "store ''").contains("more"))
  }

  /// Bash expands the words that it is given to choose from.
  @Test func aNameThatAShellWouldRunIsNotOffered() throws {
    let tool = try toolWithItems()
    #expect(try !names(tool, "get", "positional@1", typed: "store ''").joined().contains("touch"))
  }

  @Test func nothingIsAskedFor() throws {
    let tool = try Tool()
    try tool.run(
      "printf geheim | session-tools init store --passphrase-fd 0 --passphrase-memory 8 "
        + "--passphrase-passes 1")
    let terminal = try PseudoTerminal(
      tool, "---completion", "get", "--", "positional@1", "0", "0", "session-tools", "get", "store",
      "")
    #expect(terminal.end() == 0)
    #expect(!terminal.text.contains("Passphrase"))
    #expect(try names(tool, "get", "positional@1", typed: "nothing ''").isEmpty)
  }
}
