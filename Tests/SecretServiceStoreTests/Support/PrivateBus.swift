import DBus
import Foundation
import SecretServiceStore
import SessionToolsBase
import TestSupport

/// A message bus that nobody else is on, with directories for those who are.
final class PrivateBus: Sendable {
  /// What the bus starts by itself when somebody asks for it.
  enum Services: String {
    case none = ""
    /// As on a desktop: keyring and prompter.
    case standard = "<standard_session_servicedirs/>"
  }

  private let directory: TemporaryDirectory
  private let daemon: Daemon
  let address: String

  init(_ services: Services = .none) async throws {
    directory = try TemporaryDirectory()
    for name in ["home", "data", "config", "runtime", "temporary"] {
      try FileManager.default.createDirectory(
        atPath: directory[name], withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }
    address = "unix:path=\(directory["bus"])"
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>session</type>
        <listen>\(address)</listen>
        <auth>EXTERNAL</auth>
        \(services.rawValue)
        <policy context="default">
          <allow send_destination="*" eavesdrop="true"/>
          <allow eavesdrop="true"/>
          <allow own="*"/>
        </policy>
        <limit name="max_message_size">134217728</limit>
      </busconfig>
      """
    try configuration.write(
      toFile: directory["bus.conf"], atomically: true, encoding: .utf8)
    daemon = try Daemon(
      "/usr/bin/dbus-daemon",
      ["--nofork", "--nopidfile", "--config-file=\(directory["bus.conf"])"],
      environment: Self.environment(directory, address: nil))
    try await wait(until: "the bus is there") { [address] in
      // It answers when it answers.
      (try? await DBusConnection.open(address: address, timeout: patience)) != nil
    }
  }

  private static func environment(
    _ directory: TemporaryDirectory, address: String?
  ) -> [String: String] {
    var environment = [
      "PATH": "/usr/bin:/bin", "HOME": directory["home"], "XDG_DATA_HOME": directory["data"],
      "XDG_CONFIG_HOME": directory["config"], "XDG_RUNTIME_DIR": directory["runtime"],
      "TMPDIR": directory["temporary"], "LC_ALL": "C.UTF-8", "QT_QPA_PLATFORM": "offscreen",
    ]
    environment["DBUS_SESSION_BUS_ADDRESS"] = address
    return environment
  }

  /// What a program on the bus sees, and nothing of the one who runs the tests.
  var environment: [String: String] { Self.environment(directory, address: address) }

  /// A path beside the bus.
  subscript(name: String) -> String { directory[name] }

  /// A store on the bus.
  func store(
    _ collection: SecretServiceCollection = .default,
    _ configure: (inout SecretServiceOptions) -> Void = { _ in }
  ) -> SecretServiceStore {
    var options = SecretServiceOptions.patient
    configure(&options)
    return SecretServiceStore(
      collection: collection, options: options, bus: SessionBus(address: address))
  }

  /// Waits for the owner of a name.
  func waitForOwner(of name: String) async throws {
    let connection = try await DBusConnection.open(address: address, timeout: patience)
    let method = DBusMethod(
      "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner")
    try await wait(until: "\(name) is there") {
      let answer = try await connection.call(method, [.string(name)], timeout: patience)
      return answer.children.first?.boolean == true
    }
  }

  /// Runs a program on the bus to its end, and gives what it wrote.
  @discardableResult
  func run(_ program: String, _ arguments: String..., input: String = "") async throws -> String {
    try await Program.run(program, arguments, input: input, environment: environment)
  }

  /// Ends the bus, as a crash does.
  func kill() { daemon.kill() }
}

extension SecretServiceOptions {
  /// For machines that have a lot else to do.
  static var patient: SecretServiceOptions {
    var options = SecretServiceOptions()
    options.timeout = patience
    return options
  }
}
