import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// OpenSSH with the article's two lines as its program that asks.
@Suite(.onOwnThread) struct SSHAskpassTests {
  private static let server = "/usr/sbin/sshd"

  private let tool: Tool

  init() throws {
    tool = try Tool()
    try OtherProgramsArticle.write("~/bin/ask-vault", for: tool)
    // ssh-add has the home directory from the user database, so the key is named.
    try run(
      """
      chmod +x ~/bin/ask-vault; session-tools init ~/vault
      ssh-keygen -q -t ed25519 -N 'pass phrase' -C comment -f ~/key
      """)
  }

  /// Runs lines after the article's `export`.
  @discardableResult
  private func run(_ lines: String) throws -> Tool.Outcome {
    let outcome = try tool.run(
      "set -e; export SSH_ASKPASS=~/bin/ask-vault SSH_ASKPASS_REQUIRE=force\n\(lines)")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    return outcome
  }

  /// Stores the passphrase under a question that the article has, with this test's key in it.
  private func store(_ question: String) throws {
    let article = try OtherProgramsArticle.text
    #expect(article.contains("`\(question)`"))
    let asked = question.replacingOccurrences(
      of: "/home/ada/.ssh/id_ed25519", with: tool["home/key"]
    ).replacingOccurrences(of: "\"", with: "\\\"")
    try run(
      "printf 'pass phrase' | session-tools set ~/vault --service ssh \"\(asked)\"")
  }

  @Test func `ssh-add takes the passphrase from the store`() throws {
    try store("Enter passphrase for /home/ada/.ssh/id_ed25519: ")
    let outcome = try run("ssh-agent sh -c 'ssh-add ~/key && ssh-add -l'")
    #expect(outcome.text.contains("comment (ED25519)"))
  }

  @Test func `a key that needs confirmation is added, and not used without a person`() throws {
    try store("Enter passphrase for /home/ada/.ssh/id_ed25519 (will confirm each use): ")
    let outcome = try run(
      "ssh-agent sh -c 'ssh-add -c ~/key && ! ssh-add -T ~/key.pub && ssh-add -l'")
    #expect(outcome.text.contains("comment (ED25519)"))
  }

  @Test func `ssh-keygen takes the passphrase from the store`() throws {
    try store("Enter passphrase: ")
    try store("Enter passphrase for \"/home/ada/.ssh/id_ed25519\": ")
    try store("Enter old passphrase: ")
    let outcome = try run(
      """
      ssh-keygen -y -f ~/key; ssh-keygen -c -C other -f ~/key
      echo text | ssh-keygen -Y sign -n file -f ~/key; ssh-keygen -p -N new -f ~/key
      """)
    #expect(outcome.text.contains("ssh-ed25519") && outcome.text.contains("SSH SIGNATURE"))
  }

  @Test func `a wrong passphrase ends ssh-add, instead of being asked for again and again`() throws
  {
    try store("Enter passphrase for /home/ada/.ssh/id_ed25519: ")
    let outcome = try run(
      """
      printf wrong | session-tools set ~/vault --service ssh "Enter passphrase for $HOME/key: "
      ! ssh-agent ssh-add ~/key
      """)
    #expect(outcome.complaint.contains("there is no Bad passphrase, try again"))
  }

  @Test func `ssh takes the passphrase from the store, and trusts no host by itself`() throws {
    try #require(
      FileManager.default.fileExists(atPath: Self.server),
      "\(Self.server) is not here; Tests/run installs it, the package is openssh-server")
    try store("Enter passphrase for key '/home/ada/.ssh/id_ed25519': ")
    // The server talks to ssh by its standard streams; as root, it wants its directory.
    let outcome = try run(
      """
      ssh-keygen -q -t ed25519 -N '' -f ~/host; test $UID != 0 || mkdir -p /run/sshd
      printf '%s\\n' "HostKey $HOME/host" "AuthorizedKeysFile $HOME/key.pub" 'StrictModes no' \
        'UsePAM no' 'PidFile none' > ~/sshd_config
      printf '#!/bin/sh\\nexec \(Self.server) -i -f ~/sshd_config -E ~/log\\n' > ~/bin/server
      chmod +x ~/bin/server
      connect() {
        ssh -F none -o ProxyCommand="$HOME/bin/server" -o UserKnownHostsFile=~/known \
          -o IdentitiesOnly=yes -i ~/key "$@" "$(id -un)@host" echo connected
      }
      ! connect -o StrictHostKeyChecking=ask
      connect -o StrictHostKeyChecking=accept-new
      """)
    #expect(outcome.text == "connected\n")
    #expect(outcome.complaint.contains("Host key verification failed"))
  }
}
