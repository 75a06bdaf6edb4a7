import TestSupport
import TestThreads
import Testing

/// ssh with the article's two lines as its program that asks.
@Suite(.onOwnThread) struct SSHAskpassTests {
  @Test func sshAddTakesThePassphraseFromTheStore() throws {
    let tool = try Tool()
    try OtherProgramsArticle.write("~/bin/ask-vault", for: tool)
    // ssh looks for the home directory in the user database, so the key is named.
    let outcome = try tool.run(
      """
      chmod +x ~/bin/ask-vault && session-tools init ~/vault
      ssh-keygen -q -t ed25519 -N 'pass phrase' -C comment -f ~/key || exit
      printf 'pass phrase' | session-tools set ~/vault --service ssh "Enter passphrase for $HOME/key: "
      export SSH_ASKPASS=~/bin/ask-vault SSH_ASKPASS_REQUIRE=force
      ssh-agent sh -c 'ssh-add ~/key && ssh-add -l'
      """)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(outcome.text.contains("comment (ED25519)"))
  }
}
