import DBus
import Foundation

/// The bus of a login session.
///
/// The variable first, then the socket that systemd makes. Nothing is started: a bus of its own
/// for every program that finds none would have no keyring on it.
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
  var address: String? {
    fixedAddress ?? Self.address(environment: ProcessInfo.processInfo.environment)
  }

  private static func address(environment: [String: String]) -> String? {
    if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
    guard let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else {
      return nil
    }
    let path = "\(directory)/bus"
    return FileManager.default.fileExists(atPath: path) ? "unix:path=\(path)" : nil
  }

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
