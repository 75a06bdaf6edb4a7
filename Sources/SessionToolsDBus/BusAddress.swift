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
    return BusSocket.isAbsent(path) ? nil : "unix:path=\(path)"
  }

  /// Returns the paths of the sockets in an address; `nil` if it also names a bus in another way.
  package static func socketPaths(in address: String) -> [String]? {
    var paths: [String] = []
    for part in address.split(separator: ";") {
      guard part.hasPrefix("unix:"),
        let value = part.dropFirst("unix:".count).split(separator: ",")
          .first(where: { $0.hasPrefix("path=") }),
        let path = value.dropFirst("path=".count).removingPercentEncoding
      else { return nil }
      paths.append(path)
    }
    return paths
  }
}

/// The socket of a bus, as far as this process may see it.
package enum BusSocket {
  /// Returns whether there is certainly none at a path: one that may not be seen may be there.
  package static func isAbsent(_ path: String) -> Bool {
    do {
      _ = try FileManager.default.attributesOfItem(atPath: path)
      return false
    } catch {
      return (error as? CocoaError)?.code == .fileReadNoSuchFile
    }
  }

  /// Returns the user that a socket belongs to, or the directory of one that may not be seen; `nil`
  /// if neither may be.
  package static func owner(of path: String) -> UInt32? {
    var url = URL(filePath: path)
    while url.path != "/" {
      // A failure has the same reason for the directory, or none.
      if let attributes = try? FileManager.default.attributesOfItem(atPath: url.path) {
        return (attributes[.ownerAccountID] as? NSNumber)?.uint32Value
      }
      url.deleteLastPathComponent()
    }
    return nil
  }
}
