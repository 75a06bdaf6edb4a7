import Foundation
import SessionToolsTestSupport
import Testing

/// Events of systemd-logind itself, on a machine that a systemd of the test's own has started.
@Suite struct RealLogindTests {
  private static let root = geteuid() == 0 ? [] : ["sudo", "-n"]
  private static let namespaces = [
    "unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
    "--cgroup", "--net", "--uts", "--ipc",
  ]

  /// Starts sessions and a program in one of them, changes what logind reports, and waits each
  /// time for the event that the program writes.
  private static let line = """
    session() {
      systemd-run --quiet --unit "$1" --property User="$2" --property PAMName=test-session \\
        --property "Environment=XDG_SESSION_CLASS=user XDG_SESSION_TYPE=wayland XDG_SEAT=seat0" \\
        --property StandardOutput="append:$PWD/$1" "${@:3}"
    }
    count=1
    heard() {
      count=$((count + 1))
      until [ "$(wc -l < mail)" -ge $count ]; do sleep 0.02; done
    }
    session mail root WORKER events
    until systemd-inhibit --list --no-legend | grep -q AuthenticationWorker; do sleep 0.02; done
    # Since systemd 257 there is also the session of the user's own systemd, without a seat.
    id=$(loginctl --no-legend | awk '$4 == "seat0" { print $1 }')
    own=/org/freedesktop/login1/session/$id
    hint() {
      busctl call org.freedesktop.login1 "$own" org.freedesktop.login1.Session "Set$1Hint" b "$2"
    }
    loginctl lock-session "$id"; heard
    loginctl unlock-session "$id"; heard
    hint Locked true; heard
    hint Locked false; heard
    hint Idle true; heard
    hint Idle false; heard
    systemctl suspend; heard; heard
    session other daemon sleep 1000; heard
    loginctl activate "$id"; heard
    systemd-inhibit --list --no-legend
    systemctl stop mail
    # logind notices the end of a program when it has nothing else to do.
    until [ -z "$(systemd-inhibit --list --no-legend)" ]; do sleep 0.02; done
    systemd-inhibit --list --no-legend
    """

  @Test(.timeLimit(.minutes(2)))
  func `locks, idleness, sleep and another user in front are reported`() throws {
    let directory = try TemporaryDirectory.readableByAll()
    let build = URL(filePath: AuthenticationWorker.path).deletingLastPathComponent().path
    let script = "\(SourceDirectory.path)/Tests/Services/LoginManager/with-logind"
    let line = Self.line.replacing("WORKER", with: "'\(AuthenticationWorker.path)'")
    let words = Self.root + Self.namespaces + [script, directory.path, build, line]
    let child = try Child(
      "/usr/bin/env", ["timeout", "--kill-after=5", "60"] + words,
      environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"])
    child.waitUntilExit()
    let read = { try String(contentsOfFile: directory[$0], encoding: .utf8) }
    #expect(try read("complaints").isEmpty)
    let events = try read("mail").split(separator: "\n").dropFirst().map(String.init)
    #expect(
      events == [
        "sessionLocked", "sessionUnlocked",  // lock-session
        "sessionLocked", "sessionUnlocked",  // LockedHint
        "sessionLocked", "sessionUnlocked",  // IdleHint
        "willSleep", "didWake",
        "sessionLocked", "sessionUnlocked",  // another user's session
      ])
    // Sleep was delayed as long as the program ran, and no longer.
    let inhibitors = try read("output").split(separator: "\n")
    #expect(inhibitors.count == 1)
    #expect(inhibitors.first?.contains("sleep") == true)
    #expect(inhibitors.first?.contains("Locking before sleep") == true)
  }
}
