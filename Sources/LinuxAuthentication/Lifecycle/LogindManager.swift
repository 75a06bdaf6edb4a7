import DBus
import Foundation
import Glibc

/// systemd-logind, as one program uses it.
struct LogindManager: Sendable {
  static let service = "org.freedesktop.login1"

  enum Interface: String {
    case manager = "org.freedesktop.login1.Manager"
    case session = "org.freedesktop.login1.Session"
    case properties = "org.freedesktop.DBus.Properties"
  }

  static let path = "/org/freedesktop/login1"

  let connection: DBusConnection

  /// The path of the session that this process belongs to; `nil` when it belongs to none.
  ///
  /// - Throws: `DBusError` when logind could not say.
  func ownSession() async throws(DBusError) -> String? {
    var attempts: [(method: String, argument: Variant)] = [
      ("GetSessionByPID", .unsigned32(UInt32(getpid())))
    ]
    // Programs that the user's own systemd started are in no session, and know by this whose they
    // are.
    if let identifier = ProcessInfo.processInfo.environment["XDG_SESSION_ID"] {
      attempts.append(("GetSession", .string(identifier)))
    }
    // The user's session with a display.
    attempts.append(("GetSession", .string("auto")))
    for (method, argument) in attempts {
      do throws(DBusError) {
        return try await call(method, [argument]).first?.objectPath
      } catch {
        // Any error of its own means that there is none by this; others that it is not there.
        guard error.name != nil, !error.saysNoProvider else { throw error }
      }
    }
    return nil
  }

  /// Whether a session says that it is locked; `nil` when it says nothing.
  func isLocked(_ session: String) async -> Bool? {
    await property("LockedHint", of: session, .session)
  }

  /// Whether the machine is about to sleep, or asleep.
  func isPreparingForSleep() async -> Bool? {
    await property("PreparingForSleep", of: Self.path, .manager)
  }

  /// Delays sleep for as long as the descriptor lives, commonly at most 5 s; `nil` when logind does
  /// not let this program.
  func delaySleep(program: String, reason: String) async -> ReceivedDescriptor? {
    let method = DBusMethod(Self.service, Self.path, Interface.manager.rawValue, "Inhibit")
    // Without it, events are told all the same, only without a promise of who is first.
    let answer = try? await connection.callForDescriptors(
      method, ["sleep", program, reason, "delay"].map(Variant.string),
      timeout: BusListening.timeout)
    return answer?.descriptor(0)
  }

  private func property(
    _ name: String, of path: String, _ interface: Interface
  ) async -> Bool? {
    let method = DBusMethod(Self.service, path, Interface.properties.rawValue, "Get")
    // A session that has just ended, or a logind that does not know the property: both say nothing.
    let answer = try? await connection.call(
      method, [.string(interface.rawValue), .string(name)], timeout: BusListening.timeout)
    return answer?.children.first?.unwrapped.boolean
  }

  private func call(
    _ method: String, _ arguments: [Variant]
  ) async throws(DBusError) -> [Variant] {
    try await connection.call(
      DBusMethod(Self.service, Self.path, Interface.manager.rawValue, method), arguments,
      timeout: BusListening.timeout
    ).children
  }
}
