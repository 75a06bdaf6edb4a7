import DBus
import Foundation
import Synchronization
import TestSupport

/// A message bus that nobody else is on, where everybody may do everything; for tests it is the
/// machine's and the session's.
final class PrivateBus: Sendable {
  private let directory: TemporaryDirectory
  private let daemon: Mutex<Daemon>
  let address: String

  init() async throws {
    directory = try TemporaryDirectory()
    address = "unix:path=\(directory["bus"])"
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>system</type>
        <listen>\(address)</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow user="*"/>
          <allow send_destination="*" eavesdrop="true"/>
          <allow receive_sender="*"/>
          <allow own="*"/>
        </policy>
      </busconfig>
      """
    try Data(configuration.utf8).write(to: URL(filePath: directory["bus.conf"]))
    daemon = Mutex(try Self.daemon(in: directory))
    try await waitForBus()
  }

  private static func daemon(in directory: TemporaryDirectory) throws -> Daemon {
    try Daemon(
      "/usr/bin/dbus-daemon",
      ["--nofork", "--nopidfile", "--config-file=\(directory["bus.conf"])"],
      environment: ["PATH": "/usr/bin:/bin"])
  }

  private func waitForBus() async throws {
    try await wait(until: "the bus is there") { [address] in
      // It answers when it answers.
      (try? await DBusConnection.open(address: address, timeout: patience)) != nil
    }
  }

  /// Ends the bus as a crash does, and starts it anew, with nobody on it.
  func restart() async throws {
    try daemon.withLock { daemon in
      daemon.kill()
      daemon = try Self.daemon(in: directory)
    }
    try await waitForBus()
  }

  /// A path beside the bus.
  subscript(name: String) -> String { directory[name] }

  /// What a program on the bus sees.
  var environment: [String: String] {
    [
      "PATH": "/usr/bin:/bin", "HOME": directory.path, "LC_ALL": "C.UTF-8",
      "DBUS_SYSTEM_BUS_ADDRESS": address, "DBUS_SESSION_BUS_ADDRESS": address,
    ]
  }

  /// Starts a program, which has a name on the bus when this returns.
  func start(
    _ program: String, _ arguments: [String] = [], name: String,
    environment: [String: String] = [:]
  ) async throws -> Daemon {
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw MissingProgram(path: program)
    }
    let daemon = try Daemon(
      program, arguments, environment: self.environment.merging(environment) { $1 })
    let connection = try await connect()
    try await wait(until: "\(name) is there") {
      guard daemon.isRunning else { throw NeverHappened(what: "\(program) goes on") }
      return try await connection.owner(of: name, until: Deadline(in: patience)) != nil
    }
    return daemon
  }

  func connect() async throws -> DBusConnection {
    try await DBusConnection.open(address: address, timeout: patience)
  }

  struct MissingProgram: Error {
    let path: String
    let remedy = "Tests/run installs it"
  }
}

extension PrivateBus {
  /// Starts one of python-dbusmock's services.
  func mock(template: String, name: String) async throws -> Daemon {
    try await start(
      "/usr/bin/python3", ["-m", "dbusmock", "--system", "--template", template], name: name)
  }
}
