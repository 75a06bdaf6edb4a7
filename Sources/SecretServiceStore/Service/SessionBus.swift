import SessionToolsDBus
import Foundation

/// The bus of a login session.
package struct SessionBus: Sendable {
  private let fixedAddress: String?

  /// The bus that the process's environment names at the time of each use.
  package static let current = SessionBus(fixedAddress: nil)

  private init(fixedAddress: String?) {
    self.fixedAddress = fixedAddress
  }

  /// Makes a bus at an address.
  package init(address: String) {
    fixedAddress = address
  }

  /// The address; `nil` when there is no bus.
  var address: String? { fixedAddress ?? BusAddress.session }

  /// Whether there may be a bus: one whose socket may not be seen, or refuses, is there.
  var isPresent: Bool {
    guard let address else { return false }
    // Of a bus without a path nothing is known before it is tried.
    return !(BusAddress.socketPaths(in: address)?.allSatisfy(BusSocket.isAbsent) ?? false)
  }

  /// Connects to the bus.
  ///
  /// - Throws: `DBusError`: `disconnected` only when there is no bus.
  func connect(until deadline: Deadline) async throws(DBusError) -> DBusConnection {
    guard let address else {
      throw DBusError(
        .disconnected,
        "DBUS_SESSION_BUS_ADDRESS is not set and there is no bus at $XDG_RUNTIME_DIR/bus")
    }
    do throws(DBusError) {
      return try await DBusConnection.open(address: address, timeout: deadline.left)
    } catch let error where error.kind == .disconnected && isPresent {
      throw refusal(at: address, error)
    }
  }

  private func refusal(at address: String, _ error: DBusError) -> DBusError {
    let owners = (BusAddress.socketPaths(in: address) ?? []).compactMap(BusSocket.owner(of:))
    if let owner = owners.first, !owners.contains(geteuid()) {
      return DBusError(
        .remote(DBusError.otherUsersBusName), "the session bus belongs to user \(owner)")
    }
    return DBusError(.remote(DBusError.deadBusName), error.message)
  }
}

extension DBusError {
  /// The bus of another user, which refuses this one.
  static let otherUsersBusName = "org.session-tools.OtherUsersBus"
  /// A bus that is there, or has been, and cannot be used.
  static let deadBusName = "org.session-tools.DeadBus"
}
