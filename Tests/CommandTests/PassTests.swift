import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Entries of `pass` whose key has a passphrase, opened by the real gpg as `pass` opens them.
@Suite(.onOwnThread) final class PassTests {
  private let tool: Tool

  /// Makes a store of `pass` with two entries for a key with the passphrase `geheim`.
  init() throws {
    tool = try Tool()
    try run(
      """
      session-tools init vault; mkdir -m 700 home/.gnupg
      \(Self.makeKey) --passphrase geheim --quick-generate-key ada
      pass init ada; echo one | pass insert -m mail; echo two | pass insert -m web/x
      """)
    forgetPassphrases()
  }

  deinit {
    forgetPassphrases()
  }

  private static let makeKey = "gpg --batch --quiet --pinentry-mode loopback"
  private static let failedEntry = "could not ask for the passphrase of the key"

  private func forgetPassphrases() {
    // Without an agent there is nothing to forget.
    _ = try? tool.run("gpgconf --kill gpg-agent")
  }

  @discardableResult
  private func run(_ lines: String) throws -> Tool.Outcome {
    let outcome = try tool.run("set -e\n\(lines)")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    return outcome
  }

  private func importing(
    _ arguments: String = "vault pass:", _ environment: [String: String] = [:]
  ) throws -> Tool.Outcome {
    try tool.run("session-tools import \(arguments)", environment: environment)
  }

  /// Makes the agent ask by a program that writes a line into a file for each question, and answers
  /// with a line of the Assuan protocol.
  private func answerPinentry(with answer: String) throws {
    try run(
      """
      printf '#!/bin/sh\\necho OK\\nwhile read -r command rest; do case $command in\\n\
      GETPIN) echo asked >> \(tool.path)/asked; \(answer);; *) echo OK;; esac; done\\n' > pinentry
      chmod +x pinentry; echo "pinentry-program $PWD/pinentry" > home/.gnupg/gpg-agent.conf
      """)
    forgetPassphrases()
  }

  private var questionCount: Int {
    // No file means no question.
    let lines = (try? String(contentsOfFile: tool["asked"], encoding: .utf8)) ?? ""
    return lines.split(separator: "\n").count
  }

  @Test(arguments: [nil, "not a tty", "/dev/pts/99999"])
  func `pinentry asks on the terminal of the import, if GPG_TTY names none`(
    _ variable: String?
  ) throws {
    let terminal = try PseudoTerminal(
      tool, "import", "vault", "pass:", environment: variable.map { ["GPG_TTY": $0] } ?? [:])
    #expect(terminal.shows("Passphrase:"))
    terminal.type("geheim\r")
    #expect(terminal.end() == 0)
    #expect(terminal.text.contains("2 items migrated and compared, 0 failed"))
  }

  @Test(arguments: ["options", "gpg.conf"])
  func `gpg itself asks on the terminal where its agent may not`(_ place: String) async throws {
    var environment: [String: String] = [:]
    if place == "options" {
      environment["PASSWORD_STORE_GPG_OPTS"] = "--pinentry-mode loopback"
    } else {
      try run("echo pinentry-mode loopback > home/.gnupg/gpg.conf")
    }
    let terminal = try PseudoTerminal(
      tool, "import", "vault", "pass:", environment: environment)
    #expect(terminal.shows("Enter passphrase:"))
    // gpg discards what was typed before it hid it.
    try await wait(until: "gpg reads") { !terminal.echoes }
    terminal.type("geheim\r")
    #expect(terminal.end() == 0)
    #expect(terminal.text.contains("2 items migrated and compared, 0 failed"))
  }

  @Test func `without a terminal the reason is the question, and the remedy works`() throws {
    let outcome = try importing()
    #expect(outcome.status == 9)
    let lines = outcome.text.split(separator: "\n")
    #expect(lines[0].contains("mail\tgpg \(Self.failedEntry)"))
    #expect(lines[1].contains("web/x\tnot tried: gpg \(Self.failedEntry)"))
    // As pass show in a terminal does.
    try run("gpg --batch --pinentry-mode loopback --passphrase geheim -d \(tool.mail)")
    #expect(try importing().status == 0)
  }

  @Test(arguments: [
    ("echo ERR 83886179 cancelled", "was not given"), ("echo D falsch; echo OK", "was wrong"),
  ])
  func `a passphrase that is not given is asked for once, and not for every entry`(
    _ answer: String, _ reason: String
  ) throws {
    try answerPinentry(with: answer)
    try run("for i in 1 2 3 4 5; do cp \(tool.mail) home/.password-store/more$i.gpg; done")
    let outcome = try importing()
    #expect(outcome.status == 9)
    #expect(outcome.text.contains("0 items migrated and compared, 7 failed"))
    #expect(outcome.text.contains("mail\tthe passphrase") && outcome.text.contains(reason))
    #expect(outcome.text.split(separator: "\n").filter { $0.contains("not tried") }.count == 6)
    // gpg's agent gives a person three attempts for a wrong one.
    #expect(questionCount == (reason == "was wrong" ? 3 : 1))
  }

  @Test func `entries for another key are opened, although the first key was of no use`() throws {
    try answerPinentry(with: "echo ERR 83886179 cancelled")
    try run(
      """
      \(Self.makeKey) --passphrase '' --quick-generate-key bob
      for name in zoo both; do
        test $name = both && ada="-r ada" || ada=
        echo $name | gpg --trust-model always -e $ada -r bob > home/.password-store/$name.gpg
      done
      """)
    let outcome = try importing()
    #expect(outcome.text.contains("2 items migrated and compared, 2 failed"))
    #expect(try run("session-tools get vault --service pass zoo").text == "zoo\n")
    #expect(try run("session-tools get vault --service pass both").text == "both\n")
  }

  @Test func `damaged files and those for other keys fail alone`() throws {
    try answerPinentry(with: "echo D geheim; echo OK")
    try run(
      """
      mkdir -m 700 other; gpg() { /usr/bin/gpg --homedir other --batch "$@"; }
      gpg --quiet --passphrase '' --quick-generate-key eve
      cd home/.password-store
      echo eve | gpg --homedir ../../other --trust-model always -e -r eve > a-eve.gpg
      head -c 20 mail.gpg > b-begin.gpg; head -c -9 mail.gpg > c-cut.gpg; touch d-empty.gpg
      cp mail.gpg e-key.gpg; printf damaged- | dd of=e-key.gpg bs=1 seek=100 conv=notrunc
      (cat mail.gpg; head -c 40 /dev/zero) > f-more.gpg; echo plain > g-text.gpg
      GNUPGHOME=../../other gpgconf --kill gpg-agent
      """)
    let outcome = try importing()
    #expect(outcome.text.contains("2 items migrated and compared, 7 failed"))
    let reasons = outcome.text.split(separator: "\n").prefix(7).map { line in
      String(line.split(separator: "\t").last ?? "")
    }
    #expect(reasons[0].hasSuffix("whose secret key gpg does not have"))
    for position in [1, 3, 6] {
      #expect(reasons[position] == "it is not a file that gpg encrypted, or the beginning of one")
    }
    for position in [2, 4, 5] { #expect(reasons[position].hasPrefix("it is damaged")) }
  }

  @Test func `a key that gpg does not have is looked for once`() throws {
    try run("mkdir -m 700 other; echo plain > home/.password-store/text.gpg")
    let outcome = try importing("vault pass:", ["GNUPGHOME": tool["other"]])
    let lines = outcome.text.split(separator: "\n")
    #expect(lines[0].contains("mail\tit is encrypted for the key"))
    #expect(lines[1].contains("text\tit is not a file that gpg encrypted"))
    #expect(lines[2].contains("web/x\tnot tried: it is encrypted for the key"))
    try run("GNUPGHOME=other gpgconf --kill gpg-agent")
  }

  /// As on a machine that has the key for signing alone: gpg lists the other one with a mark.
  @Test func `a secret key of which gpg has only the public part is missing`() throws {
    try run(
      """
      gpg --batch --with-colons --with-keygrip --list-secret-keys ada > keys
      grip=$(grep -A9 ^ssb keys | grep ^grp | head -1 | tr -d : | cut -c4-)
      rm home/.gnupg/private-keys-v1.d/$grip.key
      """)
    forgetPassphrases()
    #expect(try run("gpg --batch --with-colons --list-secret-keys ada").text.contains(":#:"))
    let outcome = try importing()
    #expect(outcome.status == 9)
    #expect(outcome.text.contains("whose secret key gpg does not have"), "\(outcome.text)")
  }

  @Test func `the options of pass are given to gpg, split at whitespace`() throws {
    try run("mv home/.gnupg moved; printf geheim > file")
    let options = "--homedir \(tool["moved"])\n --pinentry-mode  loopback\t--passphrase-file file"
    let outcome = try importing("vault pass:", ["PASSWORD_STORE_GPG_OPTS": options])
    #expect(outcome.status == 0, "\(outcome.text)")
    try run("GNUPGHOME=moved gpgconf --kill gpg-agent")
  }

  @Test(arguments: [
    ("--no-such-option", "gpg does not take its options: invalid option \"--no-such-option\""),
    ("--agent-program /bin/false", "gpg cannot reach its secret keys: error running '/bin/false'"),
    ("--homedir /nowhere", "gpg cannot reach its secret keys"),
  ])
  func `a gpg that opens nothing is asked once`(_ options: String, _ reason: String) throws {
    let outcome = try importing("vault pass:", ["PASSWORD_STORE_GPG_OPTS": options])
    #expect(outcome.status == 9)
    #expect(outcome.text.contains("mail\t\(reason)"), "\(outcome.text)")
    #expect(outcome.text.contains("web/x\tnot tried: \(reason)"))
  }

  @Test func `gpg2 is preferred, as by pass, and variables that are not UTF-8 stay`() throws {
    try run(
      """
      mkdir bin; printf '#!/bin/sh\\necho "$ODD" > %s/odd\\necho "$*" > %s/words\\n\
      exec /usr/bin/gpg --pinentry-mode loopback --passphrase geheim "$@"\\n' "$PWD" "$PWD" \
        > bin/gpg2
      chmod +x bin/gpg2
      export ODD=$'caf\\xe9'; PATH=$PWD/bin:$PATH session-tools import vault pass:
      test "$(cat odd)" = $'caf\\xe9'; grep -q -e '--batch --use-agent .*--decrypt' words
      """)
  }

  @Test func `an expired key still opens entries`() throws {
    try answerPinentry(with: "echo D geheim; echo OK")
    try run(
      """
      gpg() { /usr/bin/gpg --batch --faked-system-time 20200101T000000 "$@"; }
      gpg --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key old rsa encr 1d
      echo old | gpg --trust-model always -e -r old > home/.password-store/old.gpg
      /usr/bin/gpg --with-colons -k old | grep ^pub:e
      """)
    #expect(try importing().status == 0)
    #expect(try run("session-tools get vault --service pass old").text == "old\n")
  }

  @Test func `a machine without gpg says so`() throws {
    let outcome = try tool.run(
      """
      mkdir bin && ln -s $(command -v session-tools) bin/session-tools
      PATH=$PWD/bin session-tools import vault pass:
      """)
    #expect(outcome.complaint.contains("gpg is not installed. Install it: apt-get install gnupg"))
    #expect(outcome.status != 0)
  }

  @Test func `a store that gopass mounts is named, with the link that lets it be migrated`() throws
  {
    try run(
      """
      mkdir -p home/.config/gopass root; mv home/.password-store work; touch root/.gpg-id
      printf '[mounts]\n\tpath = %s/root\n[mounts "work"]\n\tpath = %s/work\n' "$PWD" "$PWD" \
        > home/.config/gopass/config
      """)
    try answerPinentry(with: "echo D geheim; echo OK")
    let missing = try importing()
    #expect(missing.complaint.contains("gopass has a store here: pass:\(tool["root"])"))
    let listed = try importing("vault pass:root").text
    let start = try #require(listed.firstRange(of: "link it: ")).upperBound
    let end = try #require(listed[start...].firstIndex(of: "\n"))
    try run(String(listed[start..<end]))
    #expect(try importing("vault pass:root").status == 0)
    #expect(try run("session-tools list vault").text.contains("work/web/x"))
  }

  @Test func `an empty PASSWORD_STORE_DIR counts as absent`() throws {
    try answerPinentry(with: "echo D geheim; echo OK")
    #expect(try importing("vault pass:", ["PASSWORD_STORE_DIR": ""]).status == 0)
  }
}

extension Tool {
  /// The file of the entry `mail`.
  fileprivate var mail: String { self["home/.password-store/mail.gpg"] }
}
