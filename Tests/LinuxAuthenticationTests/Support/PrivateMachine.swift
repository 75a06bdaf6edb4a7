import BusTestSupport
import DBus
import Foundation
import TestSupport

/// A namespace with accounts and a system bus of its own, which is where programs look for it that
/// do not believe their environment, and a `/run` without anything else.
final class PrivateMachine: Sendable {
  private let directory: TemporaryDirectory
  let accounts: OtherAccounts
  private let bus: Daemon
  /// Where the bus is for those outside of the namespace.
  let address: String

  /// Makes one.
  ///
  /// - Parameter preparation: What a shell does in it first, as root.
  /// - Throws: What keeps it from being made.
  init(preparation: String = "") async throws {
    directory = try TemporaryDirectory()
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: directory.path)
    accounts = try await OtherAccounts(
      preparation: """
        mount -t tmpfs -o mode=755 tmpfs /run
        mkdir /run/dbus
        \(preparation)
        """)
    address = "unix:path=\(directory["bus"])"
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

  /// Starts a program as root, which has a name on the bus when this returns.
  func start(_ program: String, _ arguments: [String] = [], name: String) async throws -> Daemon {
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw PrivateBus.MissingProgram(path: program)
    }
    let daemon = try accounts.daemon(program, arguments)
    let connection = try await DBusConnection.open(address: address, timeout: patience)
    try await wait(until: "\(name) is there") {
      guard daemon.isRunning else { throw NeverHappened(what: "\(program) goes on") }
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
