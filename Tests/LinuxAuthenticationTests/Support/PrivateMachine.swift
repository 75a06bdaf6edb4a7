import SessionToolsBusTestSupport
import SessionToolsDBus
import Foundation
import SessionToolsTestSupport

/// A namespace with accounts, a system bus of its own, and a `/run` without anything else.
///
/// The bus has the standard path, for programs that ignore the address in their environment.
final class PrivateMachine: Sendable {
  private let directory: TemporaryDirectory
  let accounts: OtherAccounts
  private let bus: Daemon
  /// The address of the bus outside of the namespace.
  let address: String

  /// Creates the namespace and the bus.
  ///
  /// - Parameter preparation: The commands that a shell runs in it first, as root.
  /// - Throws: An error if they cannot be created.
  init(preparation: String = "") async throws {
    directory = try TemporaryDirectory.readableByAll()
    accounts = try await OtherAccounts(
      preparation: """
        mount -t tmpfs -o mode=755 tmpfs /run
        mkdir /run/dbus
        \(preparation)
        """)
    address = PrivateBus.address(of: directory["bus"])
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>system</type>
        <listen>unix:path=/run/dbus/system_bus_socket</listen>
        <listen>\(address)</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow user="*"/>
          <allow send_destination="*"/>
          <allow receive_sender="*"/>
          <allow own="*"/>
        </policy>
      </busconfig>
      """
    try Data(configuration.utf8).write(to: URL(filePath: directory["bus.conf"]))
    bus = try accounts.daemon(
      "/usr/bin/dbus-daemon",
      ["--nofork", "--nopidfile", "--config-file=\(directory["bus.conf"])"])
    try await wait(until: "the bus is there") { [address] in
      (try? await DBusConnection.open(address: address, timeout: patience)) != nil
    }
  }

  /// Starts a program as root, and waits until it owns a name on the bus.
  func start(_ program: String, _ arguments: [String] = [], name: String) async throws -> Daemon {
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw PrivateBus.MissingProgram(path: program)
    }
    let daemon = try accounts.daemon(program, arguments)
    let connection = try await DBusConnection.open(address: address, timeout: patience)
    try await wait(until: "\(name) is there") {
      try daemon.requireRunning(program)
      return try await connection.owner(of: name, until: Deadline(in: patience)) != nil
    }
    return daemon
  }
}

extension OtherAccounts {
  /// Starts a program in the namespace, as root.
  fileprivate func daemon(_ program: String, _ arguments: [String]) throws -> Daemon {
    let command = prefix(nil) + [program] + arguments
    return try Daemon(
      command[0], Array(command.dropFirst()),
      environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"])
  }
}
