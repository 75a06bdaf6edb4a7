import SessionToolsDBus
import SessionAuthentication

/// The machine's default fingerprint reader, over a private connection.
///
/// fprintd releases a reader when the connection that claimed it ends, even without a call.
struct FingerprintReader: Sendable {
  static let service = "net.reactivated.Fprint"

  enum Interface: String {
    case manager = "net.reactivated.Fprint.Manager"
    case device = "net.reactivated.Fprint.Device"
  }

  let connection: DBusConnection
  /// The unique name of this fprintd: after a restart, it no longer knows the claim.
  let owner: String
  /// The reader's path.
  let path: String

  /// Finds the reader, starting fprintd if it is not running.
  ///
  /// - Throws: `DBusError`.
  init(at address: String, until deadline: Deadline) async throws(DBusError) {
    connection = try await DBusConnection.open(address: address, timeout: deadline.left)
    owner = try await connection.provider(of: Self.service, until: deadline)
    let answer = try await connection.call(
      DBusMethod(
        owner, "/net/reactivated/Fprint/Manager", Interface.manager.rawValue, "GetDefaultDevice"),
      timeout: deadline.left)
    guard let path = answer.children.first?.objectPath else {
      throw .unexpected("GetDefaultDevice")
    }
    self.path = path
  }

  /// Calls a method of the reader.
  ///
  /// - Throws: `DBusError`.
  @discardableResult
  func call(
    _ method: String, _ arguments: [Variant] = [], until deadline: Deadline
  ) async throws(DBusError) -> [Variant] {
    try await connection.call(
      DBusMethod(owner, path, Interface.device.rawValue, method), arguments,
      timeout: deadline.left
    ).children
  }

  /// Checks that a user has enrolled a finger.
  ///
  /// - Throws: `DBusError`; `NoEnrolledPrints` when no finger is enrolled.
  func requireFingers(of user: String, until deadline: Deadline) async throws(DBusError) {
    let fingers = try await call("ListEnrolledFingers", [.string(user)], until: deadline)
    guard fingers.first?.texts?.isEmpty == false else {
      throw DBusError(.remote(FingerprintFailure.noEnrolledPrints), "no finger is enrolled")
    }
  }

  /// Returns whether a finger is swiped across the reader rather than put on it; the default is
  /// put.
  func isSwiped(until deadline: Deadline) async -> Bool {
    let method = DBusMethod(owner, path, "org.freedesktop.DBus.Properties", "Get")
    // Only the wording of a hint depends on it, so an error does not matter.
    let answer = try? await connection.call(
      method, [.string(Interface.device.rawValue), .string("scan-type")], timeout: deadline.left)
    return answer?.children.first?.unwrapped.text == "swipe"
  }
}
