import Foundation

/// The addresses of the message buses that a program uses.
package enum BusAddress {
  /// The system bus: `DBUS_SYSTEM_BUS_ADDRESS`, or else the address from the D-Bus specification.
  package static var system: String {
    let address = ProcessInfo.processInfo.environment["DBUS_SYSTEM_BUS_ADDRESS"]
    return address.flatMap { $0.isEmpty ? nil : $0 } ?? "unix:path=/var/run/dbus/system_bus_socket"
  }

  /// The session bus: `DBUS_SESSION_BUS_ADDRESS`, or else the socket that systemd makes; `nil` when
  /// there is neither.
  ///
  /// No bus is started: a separate bus for every program that finds none would have no other
  /// programs on it.
  package static var session: String? {
    let environment = ProcessInfo.processInfo.environment
    if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
    guard let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else {
      return nil
    }
    let path = "\(directory)/bus"
    return FileManager.default.fileExists(atPath: path) ? "unix:path=\(path)" : nil
  }
}
