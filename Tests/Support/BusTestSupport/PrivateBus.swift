package import SessionToolsDBus
import Foundation
import Synchronization
package import SessionToolsTestSupport

/// A message bus for one test, without restrictions, with directories for the programs on it.
///
/// For these programs it is both the session bus and the system bus.
package final class PrivateBus: Sendable {
  /// The services that the bus starts on demand.
  package enum Services: String {
    case none = ""
    /// As on a desktop: keyring and prompter.
    case standard = "<standard_session_servicedirs/>"
  }

  package struct MissingProgram: Error {
    package let path: String
    package let remedy = "Tests/run installs it"

    package init(path: String) {
      self.path = path
    }
  }

  private let directory: TemporaryDirectory
  private let daemon: Mutex<Daemon>
  package let address: String

  /// Starts a bus.
  ///
  /// - Parameters:
  ///   - services: The services that it starts on demand.
  ///   - denied: The attributes of a rule that denies calls, in the language of the bus's
  ///     configuration.
  /// - Throws: An error if the bus does not start.
  package init(_ services: Services = .none, denying denied: String? = nil) async throws {
    directory = try TemporaryDirectory()
    for name in ["home", "data", "config", "runtime", "temporary"] {
      try FileManager.default.createDirectory(
        atPath: directory[name], withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }
    address = Self.address(of: directory["bus"])
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>session</type>
        <listen>\(address)</listen>
        <auth>EXTERNAL</auth>
        \(services.rawValue)
        <policy context="default">
          <allow user="*"/>
          <allow send_destination="*" eavesdrop="true"/>
          <allow eavesdrop="true"/>
          <allow own="*"/>
          \(denied.map { "<deny \($0)/>" } ?? "")
        </policy>
        <limit name="max_message_size">134217728</limit>
      </busconfig>
      """
    try configuration.write(
      toFile: directory["bus.conf"], atomically: true, encoding: .utf8)
    daemon = Mutex(try Self.daemon(in: directory))
    try await waitForBus()
  }

  /// The address of a bus at a socket; D-Bus wants most characters of a path as numbers.
  package static func address(of path: String) -> String {
    let plain = Set("0123456789_-/.*".utf8)
    let characters = path.utf8.map { byte in
      let isLetter = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte & ~0x20
      return isLetter || plain.contains(byte)
        ? String(UnicodeScalar(byte)) : "%" + String(Int(byte) | 0x100, radix: 16).suffix(2)
    }
    return "unix:path=" + characters.joined()
  }

  private static func daemon(in directory: TemporaryDirectory) throws -> Daemon {
    try Daemon(
      "/usr/bin/dbus-daemon",
      ["--nofork", "--nopidfile", "--config-file=\(directory["bus.conf"])"],
      environment: environment(directory, address: nil))
  }

  private func waitForBus() async throws {
    try await wait(until: "the bus is there") { [address] in
      // An error means that the bus does not answer yet.
      (try? await DBusConnection.open(address: address, timeout: patience)) != nil
    }
  }

  /// Kills the bus, as in a crash.
  package func kill() { daemon.withLock { $0.kill() } }

  /// Kills the bus, as in a crash, and starts it again without any programs on it.
  package func restart() async throws {
    try daemon.withLock { daemon in
      daemon.kill()
      daemon = try Self.daemon(in: directory)
    }
    try await waitForBus()
  }

  private static func environment(
    _ directory: TemporaryDirectory, address: String?
  ) -> [String: String] {
    var environment = [
      "PATH": "/usr/bin:/bin", "HOME": directory["home"], "XDG_DATA_HOME": directory["data"],
      "XDG_CONFIG_HOME": directory["config"], "XDG_RUNTIME_DIR": directory["runtime"],
      "TMPDIR": directory["temporary"], "LC_ALL": "C.UTF-8", "QT_QPA_PLATFORM": "offscreen",
      // Else GTK starts a bus for screen readers, which outlives this one.
      "NO_AT_BRIDGE": "1",
    ]
    environment["DBUS_SESSION_BUS_ADDRESS"] = address
    environment["DBUS_SYSTEM_BUS_ADDRESS"] = address
    return environment
  }

  /// The environment of programs on the bus, with nothing from the environment of the tests.
  package var environment: [String: String] { Self.environment(directory, address: address) }

  /// Returns a path in the directory of the bus.
  package subscript(name: String) -> String { directory[name] }

  package func connect() async throws -> DBusConnection {
    try await DBusConnection.open(address: address, timeout: patience)
  }

  /// Waits until a name has an owner.
  package func waitForOwner(of name: String) async throws {
    let connection = try await connect()
    try await wait(until: "\(name) is there") {
      try await connection.owner(of: name, until: Deadline(in: patience)) != nil
    }
  }

  /// Starts a program, and waits until it owns a name on the bus.
  package func start(
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
      try daemon.requireRunning(program)
      return try await connection.owner(of: name, until: Deadline(in: patience)) != nil
    }
    return daemon
  }

  /// Starts one of python-dbusmock's services.
  package func mock(template: String, name: String) async throws -> Daemon {
    try await start(
      "/usr/bin/python3", ["-m", "dbusmock", "--system", "--template", template], name: name)
  }

  /// Runs a program on the bus until it exits, and returns its output.
  @discardableResult
  package func run(
    _ program: String, _ arguments: String..., input: String = ""
  ) async throws -> String {
    try await Program.run(program, arguments, input: input, environment: environment)
  }

  /// Runs `secret-tool`, and retries if it fails.
  ///
  /// With KWallet it fails in one run of 128, because the two do not agree on a key (see
  /// `ServiceLink`) and it does not try another one.
  @discardableResult
  package func secretTool(_ arguments: String..., input: String = "") async throws -> String {
    let run = { [environment] in
      try await Program.run(
        "/usr/bin/secret-tool", arguments, input: input, environment: environment)
    }
    for _ in 1..<4 {
      do { return try await run() } catch is Program.Failure { continue }
    }
    return try await run()
  }
}
