import LinuxAuthentication
import SessionAuthentication
import SessionToolsBase

/// What ends a key that `unlock` keeps, besides its time and `lock`.
struct KeyEnds {
  /// The events that nothing reports here, in words.
  let unreported: [String]
  /// The reason for the first of them; `nil` if it is only that there is no session to log out of.
  let reason: String?

  /// Asks logind, and looks where the agent's socket is.
  static func find() -> KeyEnds {
    var (unreported, reason): ([String], String?) = ([], SharedLibrary.gio.problem)
    do {
      if reason != nil {
        unreported = ["sleep", "a locked desktop"]
      } else if try !waiting(for: { try await LogindSource().checkAvailability() }) {
        unreported = ["a locked desktop"]
        reason = "this process is not part of a session"
      }
    } catch {
      unreported = ["sleep", "a locked desktop"]
      reason =
        (error as? AuthenticationError)?.reason ?? (error as? StoreError)?.reason ?? "\(error)"
    }
    // Only this directory is removed with the last session of its user (file-hierarchy(7)).
    // What cannot be found is not that directory.
    if (try? UserDirectory.runtime.path) != "/run/user/\(CurrentProcess.user)" {
      unreported.append("logout")
      reason = reason ?? "XDG_RUNTIME_DIR is not the directory of a login session"
    } else if keepsDirectoryAfterLogout {
      unreported.append("logout")
      reason = reason ?? "loginctl enable-linger keeps what the user runs"
    }
    return KeyEnds(unreported: unreported, reason: reason)
  }

  /// Whether logind leaves the user's directory there after the last logout.
  private static var keepsDirectoryAfterLogout: Bool {
    // logind's own mark (systemd's src/login/logind-user.c); no other program is asked for it.
    CurrentProcess.name(ofUser: CurrentProcess.user).map {
      Files.exists("/var/lib/systemd/linger/\($0)")
    } ?? false
  }

  /// Why a key may last longer than its owner expects; `nil` if everything is reported.
  var warning: String? {
    guard let last = unreported.last else { return nil }
    let events =
      unreported.count == 1
      ? last : unreported.dropLast().joined(separator: ", ") + " or " + last
    return "nothing here reports \(events)\(reason.map { " (\($0))" } ?? ""): only its time and "
      + "session-tools lock end a key that unlock keeps"
  }

  /// The check for the doctor.
  var check: Check {
    guard let warning else {
      return .ok("unlock", "sleep, a locked desktop and logout end a key")
    }
    return .note(
      "unlock", warning,
      remedy: "Give unlock a short --for, and run session-tools lock before you leave")
  }
}
