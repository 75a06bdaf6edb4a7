import DBus
import Foundation
import SessionAuthentication

/// polkit's authority, over a connection that nothing else uses.
struct PolkitAuthority: Sendable {
  static let service = "org.freedesktop.PolicyKit1"

  /// What the authority says of an action.
  struct Answer: Sendable {
    let isAuthorized: Bool
    /// Whether the person could be asked, and was not.
    let isChallenge: Bool
    let isDismissed: Bool
  }

  let connection: DBusConnection
  let action: String

  /// Reaches it.
  ///
  /// - Throws: `DBusError`.
  init(
    at address: String, for action: String, until deadline: Deadline
  ) async throws(DBusError) {
    self.action = action
    connection = try await DBusConnection.open(address: address, timeout: deadline.left)
    _ = try await connection.provider(of: Self.service, until: deadline)
  }

  /// Asks whether this process may do the action.
  ///
  /// - Parameters:
  ///   - cancellation: What the question can be taken back by, if the person may be asked; `nil`
  ///     asks nobody.
  ///   - deadline: When there has to be an answer.
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
        // Details are for those whom polkit trusts, so the reason cannot be among them.
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

  /// Takes a question back, so that the person is not asked any longer.
  func cancel(_ cancellation: String, until deadline: Deadline) async {
    // Nobody can do anything about an answer: the end of the connection takes it back as well.
    _ = try? await call("CancelCheckAuthorization", [.string(cancellation)], until: deadline)
  }

  /// Whether a policy file declares the action.
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
