import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The article's service whose key is in the TPM, started by systemd, with swtpm as the TPM.
@Suite(.onOwnThread) struct TPMCredentialTests {
  private static let article =
    "\(SourceDirectory.path)/Sources/SealedStore/SealedStore.docc/SealedStore.md"

  // In a mount namespace of its own, where it does not take this machine for one without systemd.
  @Test(.enabled(if: geteuid() == 0, "only root can start another systemd"))
  func `a cleared TPM opens the store no more, and the second slot does`() throws {
    let tool = try Tool()
    for name in ["tpm", "units"] {
      try FileManager.default.createDirectory(
        atPath: tool[name], withIntermediateDirectories: false)
    }
    let text = try String(contentsOfFile: Self.article, encoding: .utf8)
      .replacing("/var/lib/mail-sync", with: tool["state"])
      .replacing("/etc/mail-sync", with: tool.path)
    let commands = text.matches(of: /\n# ([^\n]+)/).map { String($0.1) }
      .filter { $0.contains("store-key") }
    try #require(commands.count == 4)
    let unit = try #require(
      text.firstMatch(of: /mail-sync\.service`:\n\n```ini\n(.*?)```/.dotMatchesNewlines()))
    let output = tool["output"]
    // Each start of the unit runs the next line of a test.
    try unit.1.replacing("User=mail-sync\n", with: "Type=oneshot\n")
      .replacing("/usr/local/bin/mail-sync", with: "/bin/sh -ec '. \(tool["line"])'")
      .appending("Environment=\"PATH=\(BuildDirectory.path):/usr/bin:/bin\"\n")
      .appending("StandardOutput=append:\(output)\nStandardError=append:\(output)\n")
      .write(toFile: tool["units/mail-sync.service"], atomically: false, encoding: .utf8)
    let script = """
      set -e; umask 077
      export TPM2TOOLS_TCTI=swtpm:path=$PWD/tpm/socket
      swtpm socket --tpm2 --tpmstate dir=tpm --server type=unixio,path=tpm/socket \\
        --ctrl type=unixio,path=tpm/socket.ctrl --flags not-need-init,startup-clear > tpm/log 2>&1 &
      trap "kill -KILL $!" EXIT
      timeout 300 sh -c 'until [ -S tpm/socket ]; do sleep 0.01; done'
      mkdir state
      printf 'correct horse' > passphrase
      serve() {
        printf '%s\\n' "$1" > line
        # As the kernel does for each program that used the TPM.
        tpm2_flushcontext --loaded-session
        systemctl --user start mail-sync || true
        systemctl --user show --property ExecMainStatus mail-sync
      }
      get="session-tools get $PWD/state/store --service mail token"
      \(commands[0])
      serve '\(commands[1])'
      serve '\(commands[2]) --new-passphrase-file \(tool["passphrase"]) \
        --passphrase-memory 8 --passphrase-passes 1'
      serve "printf s3cret | session-tools set $PWD/state/store --service mail token \
        --credential store-key"
      serve "$get --credential store-key"
      tpm2_clear
      serve "$get --credential store-key"
      $get --passphrase-file passphrase > second-slot
      \(commands[0])
      serve "$get --credential store-key"
      serve '\(commands[3]) --passphrase-file \(tool["passphrase"])'
      serve "$get --credential store-key"
      """
    try script.write(toFile: tool["script"], atomically: false, encoding: .utf8)
    let outcome = try tool.run(
      """
      # For systemd, and for systemd-creds.
      export SYSTEMD_TPM2_DEVICE=swtpm:path=$PWD/tpm/socket
      unshare --mount --propagation private \
      '\(SourceDirectory.path)/Tests/Services/UserManager/with-manager' '\(tool["units"])' \
      '/bin/bash script'
      """)
    // The statuses are those of systemd for a credential, and of the tool for a wrong key.
    let statuses = ["0", "0", "0", "0", "243", "5", "0", "0"]
    #expect(
      outcome.text == statuses.map { "ExecMainStatus=\($0)\n" }.joined(), "\(outcome.complaint)")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let printed = try String(contentsOfFile: output, encoding: .utf8)
    #expect(printed.components(separatedBy: "s3cret").count == 3, "\(printed)")
    #expect(try String(contentsOfFile: tool["second-slot"], encoding: .utf8) == "s3cret")
  }
}
