import TestSupport
import TestThreads
import Testing

/// ssh with the article's two lines as its program that asks.
@Suite(.onOwnThread) struct SSHAskpassTests {
  @Test func sshAddTakesThePassphraseFromTheStore() throws {
    let tool = try Tool()
    try OtherProgramsArticle.write("~/bin/ask-vault", for: tool)
    // ssh-add has the home directory from the user database, so the key is named.
    let outcome = try tool.run(
      """
      chmod +x ~/bin/ask-vault && session-tools init ~/vault
      ssh-keygen -q -t ed25519 -N 'pass phrase' -C comment -f ~/key || exit
      question="Enter passphrase for $HOME/key: "
      printf 'pass phrase' | session-tools set ~/vault --service ssh "$question"
      export SSH_ASKPASS=~/bin/ask-vault SSH_ASKPASS_REQUIRE=force
      ssh-agent sh -c 'ssh-add ~/key && ssh-add -l'
      """)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(outcome.text.contains("comment (ED25519)"))
  }
}
