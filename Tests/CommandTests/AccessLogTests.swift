import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// `audit = journald` in the settings, with systemd's own journal.
@Suite(.onOwnThread) struct AccessLogTests {
  @Test(.enabled(if: geteuid() == 0, "only root can start another journal"))
  func journaldKeepsWhoReadWhat() throws {
    let tool = try Tool()
    try tool.run(
      "session-tools init store; printf s3cret | session-tools set store --service mail token")
    try tool.run(
      "mkdir -p home/.config/session-tools; echo audit=journald >home/.config/session-tools/config")
    let script = """
      set -e
      # In the mounts of this script alone.
      mount -t tmpfs tmpfs /var/log
      mount -t tmpfs tmpfs /run
      mkdir -p /run/systemd /run/log/journal
      /lib/systemd/systemd-journald >complaints 2>&1 &
      until [ -S /run/systemd/journal/socket ]; do kill -0 $!; sleep 0.1; done
      session-tools get store --service mail token
      session-tools get store --service mail absent || true
      session-tools run store --service mail --env TOKEN=token -- true
      read() { journalctl --quiet --no-pager -D /run/log/journal -t session-tools -o "$1"; }
      for i in $(seq 100); do [ "$(read cat | wc -l)" != 3 ] || break; sleep 0.1; done
      echo; read cat; echo; read json
      kill $!
      """
    try script.write(toFile: tool["script"], atomically: false, encoding: .utf8)
    let outcome = try tool.run(
      "unshare --mount --propagation private bash script",
      environment: ["HOME": tool["home"], "XDG_CONFIG_HOME": tool["home/.config"]])
    let parts = outcome.text.split(separator: "\n\n")
    try #require(outcome.status == 0 && parts.count == 2, "\(outcome.text)\(outcome.complaint)")
    let lines = parts[0].split(separator: "\n")
    #expect(lines.first == "s3cret")
    #expect(
      lines.dropFirst().map { $0.prefix { $0 != "," } } == [
        "read: token of mail", "absent: absent of mail", "read: token of mail",
      ])
    #expect(!parts[1].contains("s3cret"))
    let entries = try parts[1].split(separator: "\n").map { line in
      try #require(
        JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String], "\(line)")
    }
    #expect(entries.map { $0["SESSION_TOOLS_OUTCOME"] } == ["read", "absent", "read"])
    let access = try entries.map { entry in
      try #require(
        JSONSerialization.jsonObject(with: Data((entry["SESSION_TOOLS_ACCESS"] ?? "").utf8))
          as? [String: Any])
    }
    #expect(access.map { $0["command"] as? String } == ["get", "get", "run"])
    #expect(access.allSatisfy { ($0["executable"] as? String)?.hasSuffix("bash") ?? false })
    #expect(access.allSatisfy { $0["store"] as? String == tool["store"] })
  }
}
