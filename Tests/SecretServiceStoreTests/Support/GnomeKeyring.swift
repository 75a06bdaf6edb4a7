import BusTestSupport
import Foundation
import TestSupport

/// gnome-keyring on a bus, with the password "pw".
final class GnomeKeyring: Sendable {
  enum Start {
    /// Unlocked, by the password; the first one makes its collection, `login`.
    case unlocked
    /// Locked, as it is when nobody has logged in by the password.
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

  /// Makes changes, which are on the disk when they are made.
  func saving(_ change: () async throws -> Void) async throws { try await change() }

  /// Ends it, as a crash does.
  func kill() { daemon.kill() }

  /// Lets it stop answering, and go on.
  func pause() { daemon.signal(SIGSTOP) }
  func goOn() { daemon.signal(SIGCONT) }

  /// Unlocks a running one as a login does.
  static func logIn(on bus: PrivateBus) async throws {
    try await bus.run("/usr/bin/python3", FaultyProvider.script, "unlock", "pw")
  }
}
