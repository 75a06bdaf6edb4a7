import Foundation

/// Where the message buses are that a program finds.
package enum BusAddress {
  /// The machine's: what `DBUS_SYSTEM_BUS_ADDRESS` says, or else the place that the D-Bus
  /// specification has for it.
  package static var system: String {
    let address = ProcessInfo.processInfo.environment["DBUS_SYSTEM_BUS_ADDRESS"]
    return address.flatMap { $0.isEmpty ? nil : $0 } ?? "unix:path=/var/run/dbus/system_bus_socket"
  }

  /// The login session's: what `DBUS_SESSION_BUS_ADDRESS` says, or else the socket that systemd
  /// makes; `nil` when there is neither.
  ///
  /// Nothing is started: a bus of its own for every program that finds none would have nobody else
  /// on it.
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
