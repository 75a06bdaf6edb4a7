import DBus
import SessionAuthentication

/// The default fingerprint reader of the machine, over a connection that nothing else uses.
///
/// fprintd frees a reader when the connection goes that has claimed it, also without being told.
struct FingerprintReader: Sendable {
  static let service = "net.reactivated.Fprint"

  enum Interface: String {
    case manager = "net.reactivated.Fprint.Manager"
    case device = "net.reactivated.Fprint.Device"
  }

  let connection: DBusConnection
  /// fprintd's name that nobody else ever has: one that was started anew knows of no claim.
  let owner: String
  /// The reader's path.
  let path: String

  /// Looks for a reader, starting fprintd if it does not run.
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

  /// Makes sure that a user has enrolled a finger.
  ///
  /// - Throws: `DBusError`, `NoEnrolledPrints` when there is none.
  func requireFingers(of user: String, until deadline: Deadline) async throws(DBusError) {
    let fingers = try await call("ListEnrolledFingers", [.string(user)], until: deadline)
    guard fingers.first?.texts?.isEmpty == false else {
      throw DBusError(.remote(FingerprintFailure.noEnrolledPrints), "no finger is enrolled")
    }
  }

  /// Whether a finger is drawn across the reader rather than laid on it; laid when it does not say.
  func isSwiped(until deadline: Deadline) async -> Bool {
    let method = DBusMethod(owner, path, "org.freedesktop.DBus.Properties", "Get")
    // Only the wording of a hint depends on it.
    let answer = try? await connection.call(
      method, [.string(Interface.device.rawValue), .string("scan-type")], timeout: deadline.left)
    return answer?.children.first?.unwrapped.text == "swipe"
  }
}
