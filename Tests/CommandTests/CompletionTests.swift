import Foundation
import TestSupport
import TestThreads
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
}
