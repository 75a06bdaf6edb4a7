import SessionToolsBusTestSupport
import SessionToolsDBus
import Foundation
import SessionToolsTestSupport

/// The real fprintd with libfprint's virtual reader.
final class FingerprintService: Sendable {
  private static let name = "net.reactivated.Fprint"
  private static let manager = "/net/reactivated/Fprint/Manager"
  private static let device = "net.reactivated.Fprint.Device"

  let bus: PrivateBus
  private let policy: Daemon
  private let daemon: Daemon
  private var socket: String { bus["reader"] }

  /// Starts the service.
  ///
  /// - Parameters:
  ///   - hasReader: Whether a reader is connected.
  ///   - isAllowed: Whether polkit lets everyone use the reader.
  /// - Throws: An error if the service cannot be started.
  init(hasReader: Bool = true, isAllowed: Bool = true) async throws {
    bus = try await PrivateBus()
    let policyName = "org.freedesktop.PolicyKit1"
    policy = try await bus.mock(template: "polkitd", name: policyName)
    let connection = try await bus.connect()
    _ = try await connection.call(
      DBusMethod(
        policyName, "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.DBus.Mock",
        "AllowUnknown"), [.boolean(isAllowed)], timeout: patience)
    try FileManager.default.createDirectory(
      atPath: bus["fingers"], withIntermediateDirectories: false)
    var environment = ["STATE_DIRECTORY": bus["fingers"]]
    if hasReader { environment["FP_VIRTUAL_DEVICE"] = bus["reader"] }
    daemon = try await bus.start(
      "/usr/libexec/fprintd", ["--no-timeout"], name: Self.name, environment: environment)
  }

  /// Sends a command to the reader, such as `SCAN thumb`, `RETRY 1` or `UNPLUG`.
  ///
  /// Waits until the reader is in use, because it takes no commands otherwise.
  func send(_ command: String) async throws {
    try await wait(until: "the reader takes \(command)") { [socket] in
      try await onThread { try LocalSocket.send(command, to: socket) }
    }
  }

  /// Enrolls a finger of this process's user.
  func enroll(_ finger: String) async throws {
    let connection = try await bus.connect()
    let answer = try await connection.call(
      DBusMethod(Self.name, Self.manager, "net.reactivated.Fprint.Manager", "GetDefaultDevice"),
      timeout: patience)
    guard let path = answer.children.first?.objectPath else { throw NeverHappened(what: "a path") }
    let call = { (method: String, arguments: [Variant]) async throws in
      _ = try await connection.call(
        DBusMethod(Self.name, path, Self.device, method), arguments, timeout: patience)
    }
    let (states, receiver) = AsyncStream.makeStream(of: (String, Bool).self)
    let subscription = await connection.subscribe(to: Self.device, from: Self.name) { signal in
      if signal.name == "EnrollStatus", let status = signal.arguments[0].text {
        receiver.yield((status, signal.arguments[1].boolean == true))
      }
    }
    defer { withExtendedLifetime(subscription) {} }
    try await call("Claim", [.string("")])
    try await call("EnrollStart", [.string("right-thumb")])
    try await send("SCAN \(finger)")
    for await (status, isDone) in states {
      if isDone {
        guard status == "enroll-completed" else { throw NeverHappened(what: status) }
        break
      }
      try await send("SCAN \(finger)")
    }
    try await call("EnrollStop", [])
    try await call("Release", [])
  }

  /// Claims the reader, until the connection is closed.
  func claim() async throws -> DBusConnection {
    let connection = try await bus.connect()
    let answer = try await connection.call(
      DBusMethod(Self.name, Self.manager, "net.reactivated.Fprint.Manager", "GetDefaultDevice"),
      timeout: patience)
    guard let path = answer.children.first?.objectPath else { throw NeverHappened(what: "a path") }
    _ = try await connection.call(
      DBusMethod(Self.name, path, Self.device, "Claim"), [.string("")], timeout: patience)
    return connection
  }

  /// Kills the service, as in a crash.
  func kill() { daemon.kill() }

  /// Pauses the service, so that it does not answer.
  func pause() { daemon.signal(SIGSTOP) }
}

/// A socket in the file system that takes one command for each connection.
enum LocalSocket {
  /// Sends a command, and waits until it is received.
  ///
  /// - Returns: Whether it was received.
  static func send(_ command: String, to path: String) throws -> Bool {
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw POSIXError(.EMFILE) }
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let isTooLong = unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
      guard path.utf8.count < target.count else { return true }
      unsafe target.copyBytes(from: path.utf8)
      return false
    }
    guard !isTooLong else { throw POSIXError(.ENAMETOOLONG) }
    let isConnected = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe connect(socket, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isConnected else { return false }
    var bytes = Array(command.utf8)
    guard unsafe Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    else { return false }
    shutdown(socket, Int32(SHUT_WR))
    // The receiver closes the connection when it has read the command.
    return unsafe recv(socket, &bytes, 1, 0) >= 0
  }
}
