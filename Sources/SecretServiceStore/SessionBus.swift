import DBus

/// The bus of a login session.
package struct SessionBus: Sendable {
  private let fixedAddress: String?

  /// The one that the process's environment names, whenever it is asked for.
  package static let current = SessionBus(fixedAddress: nil)

  private init(fixedAddress: String?) {
    self.fixedAddress = fixedAddress
  }

  /// The one at an address.
  package init(address: String) {
    fixedAddress = address
  }

  /// Where it is; `nil` when there is none.
  var address: String? { fixedAddress ?? BusAddress.session }

  /// Connects to it.
  ///
  /// - Throws: `DBusError`.
  func connect(until deadline: Deadline) async throws(DBusError) -> DBusConnection {
    guard let address else {
      throw DBusError(
        .disconnected,
        "DBUS_SESSION_BUS_ADDRESS is not set and there is no bus at $XDG_RUNTIME_DIR/bus")
    }
    return try await DBusConnection.open(address: address, timeout: deadline.left)
  }
}
