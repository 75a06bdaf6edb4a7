import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport

/// gnome-keyring on a bus, with the password "pw".
final class GnomeKeyring: Sendable {
  enum Start {
    /// Unlocked with the password; the first start creates the collection `login`.
    case unlocked
    /// Locked, as before a login with the password.
    case locked
  }

  private let daemon: Daemon

  init(on bus: PrivateBus, _ start: Start = .unlocked) async throws {
    let unlocking = start == .unlocked ? ["--unlock"] : []
    daemon = try Daemon(
      "/usr/bin/gnome-keyring-daemon", ["--foreground", "--components=secrets"] + unlocking,
      input: start == .unlocked ? "pw" : "", environment: bus.environment)
    try await bus.waitForOwner(of: OtherClient.provider)
  }

  var isRunning: Bool { daemon.isRunning }

  /// Makes changes, which are on disk as soon as they are made.
  func saving(_ change: () async throws -> Void) async throws { try await change() }

  /// Kills the daemon, as in a crash.
  func kill() { daemon.kill() }

  /// Pauses the daemon, so that it does not answer until `goOn`.
  func pause() { daemon.signal(SIGSTOP) }
  func goOn() { daemon.signal(SIGCONT) }

  /// Unlocks a running keyring, as a login does.
  static func signIn(on bus: PrivateBus) async throws {
    try await bus.run("/usr/bin/python3", FaultyProvider.script, "unlock", "pw")
  }
}
