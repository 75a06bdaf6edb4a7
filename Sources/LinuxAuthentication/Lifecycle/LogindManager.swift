import SessionToolsDBus
import Foundation
import Glibc

/// systemd-logind, as a single program uses it.
struct LogindManager: Sendable {
  static let service = "org.freedesktop.login1"

  enum Interface: String {
    case manager = "org.freedesktop.login1.Manager"
    case session = "org.freedesktop.login1.Session"
    case properties = "org.freedesktop.DBus.Properties"
  }

  static let path = "/org/freedesktop/login1"

  let connection: DBusConnection

  /// Returns the path of the session of this process; `nil` when it belongs to no session.
  ///
  /// - Throws: `DBusError` when logind cannot determine it.
  func ownSession() async throws(DBusError) -> String? {
    var attempts: [(method: String, argument: Variant)] = [
      ("GetSessionByPID", .unsigned32(UInt32(getpid())))
    ]
    // Programs started by the user's own systemd are in no session; this variable identifies
    // theirs.
    if let identifier = ProcessInfo.processInfo.environment["XDG_SESSION_ID"] {
      attempts.append(("GetSession", .string(identifier)))
    }
    // The user's session with a display.
    attempts.append(("GetSession", .string("auto")))
    for (method, argument) in attempts {
      do throws(DBusError) {
        return try await call(method, [argument]).first?.objectPath
      } catch {
        // An error sent by logind itself: no session by this method, so try the next. Any other
        // error: logind is not there.
        guard error.name != nil, !error.saysNoProvider else { throw error }
      }
    }
    return nil
  }

  /// Returns whether a session reports that it is locked; `nil` when it reports nothing.
  func isLocked(_ session: String) async -> Bool? {
    await property("LockedHint", of: session, .session)
  }

  /// Returns whether a session is in front; `nil` when logind does not say.
  func isActive(_ session: String) async -> Bool? {
    await property("Active", of: session, .session)
  }

  /// Returns whether nothing was done in a session for long; `nil` when it reports nothing.
  func isIdle(_ session: String) async -> Bool? {
    await property("IdleHint", of: session, .session)
  }

  /// Returns whether the machine is about to sleep, or asleep; `nil` when logind does not say.
  func isPreparingForSleep() async -> Bool? {
    await property("PreparingForSleep", of: Self.path, .manager)
  }

  /// Delays sleep for as long as the descriptor exists, commonly at most 5 s; `nil` when logind
  /// does not allow it.
  func delaySleep(program: String, reason: String) async -> BusDescriptor? {
    let method = DBusMethod(Self.service, Self.path, Interface.manager.rawValue, "Inhibit")
    // Without the delay, events are still reported, but perhaps only after the machine has slept.
    let answer = try? await connection.callWithDescriptors(
      method, ["sleep", program, reason, "delay"].map(Variant.string),
      timeout: BusListening.timeout)
    return answer?.descriptor(0)
  }

  private func property(
    _ name: String, of path: String, _ interface: Interface
  ) async -> Bool? {
    let method = DBusMethod(Self.service, path, Interface.properties.rawValue, "Get")
    // An error means a session that has just ended, or an old logind: neither reports a state.
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
