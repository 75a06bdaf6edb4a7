import DBus

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

  /// Connects to the bus.
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
