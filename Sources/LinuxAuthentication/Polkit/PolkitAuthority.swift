import SessionToolsDBus
import Foundation
import Glibc
import SessionAuthentication

/// polkit's authority, over a private connection.
struct PolkitAuthority: Sendable {
  static let service = "org.freedesktop.PolicyKit1"

  /// The authority's answer about an action.
  struct Answer: Sendable {
    let isAuthorized: Bool
    /// Whether the person could be asked, but was not.
    let isChallenge: Bool
    let isDismissed: Bool
  }

  let connection: DBusConnection
  let action: String

  /// Connects to the authority, starting polkit if it is not running.
  ///
  /// - Throws: `DBusError`.
  init(
    at address: String, for action: String, until deadline: Deadline
  ) async throws(DBusError) {
    self.action = action
    connection = try await DBusConnection.open(address: address, timeout: deadline.left)
    _ = try await connection.provider(of: Self.service, until: deadline)
  }

  /// Asks whether this process may perform the action.
  ///
  /// - Parameters:
  ///   - cancellation: An identifier to cancel the question with, if the person may be asked; with
  ///     `nil` the person is not asked.
  ///   - deadline: The time by which there must be an answer.
  /// - Returns: The answer.
  /// - Throws: `DBusError`.
  func check(
    cancellation: String?, until deadline: Deadline
  ) async throws(DBusError) -> Answer {
    let allowUserInteraction: UInt32 = 1
    let answer = try await call(
      "CheckAuthorization",
      [
        PolkitSubject.ownProcess(), .string(action),
        // polkit accepts details only from trusted callers, so the reason cannot be one.
        .strings([:]), .unsigned32(cancellation == nil ? 0 : allowUserInteraction),
        .string(cancellation ?? ""),
      ], until: deadline)
    guard let parts = answer.first?.children, parts.count == 3,
      let isAuthorized = parts[0].boolean, let isChallenge = parts[1].boolean
    else { throw .unexpected("CheckAuthorization") }
    return Answer(
      isAuthorized: isAuthorized, isChallenge: isChallenge,
      isDismissed: parts[2].entries["polkit.dismissed"] != nil)
  }

  /// Withdraws a question from the screen.
  func cancel(_ cancellation: String, until deadline: Deadline) async {
    // Errors do not matter: the end of the connection withdraws the question too.
    _ = try? await call("CancelCheckAuthorization", [.string(cancellation)], until: deadline)
  }

  /// Returns whether a policy file declares the action.
  ///
  /// - Throws: `DBusError`.
  func isRegistered(until deadline: Deadline) async throws(DBusError) -> Bool {
    let answer = try await call("EnumerateActions", [.string("")], until: deadline)
    guard let actions = answer.first else { throw .unexpected("EnumerateActions") }
    return actions.children.contains { $0.children.first?.text == action }
  }

  private func call(
    _ method: String, _ arguments: [Variant], until deadline: Deadline
  ) async throws(DBusError) -> [Variant] {
    try await connection.call(
      DBusMethod(
        Self.service, "/org/freedesktop/PolicyKit1/Authority",
        "org.freedesktop.PolicyKit1.Authority", method),
      arguments, timeout: deadline.left
    ).children
  }
}

/// This process, in the form that polkit expects.
enum PolkitSubject {
  /// Returns `('unix-process', {pid, start-time, uid})`.
  ///
  /// The start time and the user are included, because the process identifier alone may belong to
  /// another process by the time polkit looks.
  static func ownProcess() -> Variant {
    let properties: [String: Variant] = [
      "pid": .unsigned32(UInt32(getpid())), "start-time": .unsigned64(startTime),
      "uid": .signed32(Int32(bitPattern: getuid())),
    ]
    return .tuple([.string("unix-process"), .properties(properties)])
  }

  /// When the process started, in ticks since the machine's start: field 22 of proc(5)'s `stat`.
  ///
  /// It is zero if that cannot be read; polkit then looks it up itself.
  private static var startTime: UInt64 {
    // A handle, because a file of reported size zero is not read to its end by its path.
    guard let file = FileHandle(forReadingAtPath: "/proc/self/stat"),
      let content = try? file.readToEnd(),
      // Field 3 follows the name, which may contain spaces and parentheses.
      let end = content.lastIndex(of: UInt8(ascii: ")"))
    else { return 0 }
    let fields = String(decoding: content[(end + 1)...], as: UTF8.self).split(separator: " ")
    return fields.count > 19 ? UInt64(fields[19]) ?? 0 : 0
  }
}
