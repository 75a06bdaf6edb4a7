import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport

/// An app in the sandbox that Flatpak makes: by bubblewrap, with `/.flatpak-info`, and with
/// xdg-dbus-proxy before the session bus.
final class FlatpakApp: Sendable {
  private let bus: PrivateBus
  private let name: String
  private let proxy: Daemon

  /// Makes the sandbox.
  ///
  /// - Parameters:
  ///   - identifier: The app's identifier.
  ///   - bus: The session bus.
  ///   - talkNames: The names on the bus that the app may talk to, besides those of the portals.
  /// - Throws: An error if the sandbox cannot be made.
  init(
    _ identifier: String, on bus: PrivateBus, talkingTo talkNames: [String] = []
  ) async throws {
    self.bus = bus
    name = identifier
    try FileManager.default.createDirectory(
      atPath: bus[identifier], withIntermediateDirectories: false)
    let instance = UInt32.random(in: 0 ... .max)
    // Where Flatpak keeps what bubblewrap reports of the sandbox; newer portals read it.
    let reports = bus["runtime/.flatpak/\(instance)"]
    try FileManager.default.createDirectory(atPath: reports, withIntermediateDirectories: true)
    try """
    [Application]
    name=\(identifier)

    [Instance]
    instance-id=\(instance)

    """.write(toFile: bus["\(identifier)/info"], atomically: false, encoding: .utf8)
    let socket = bus["\(identifier)/bus"]
    let talking = (["org.freedesktop.portal.*"] + talkNames).map { "--talk=\($0)" }
    // The portal looks for the file in the sandbox of the process at the other end of the
    // connection, which is the proxy.
    let sandbox = try Self.sandbox(bus["\(identifier)/info"], writable: bus["home/.."])
    let reporting = "exec 3> \"$0\"; exec /usr/bin/bwrap --info-fd 3 \"$@\""
    let proxy = try Daemon(
      "/bin/sh",
      ["-c", reporting, "\(reports)/bwrapinfo.json"] + sandbox
        + ["/usr/bin/xdg-dbus-proxy", bus.address, socket, "--filter"] + talking,
      environment: bus.environment)
    self.proxy = proxy
    try await wait(until: "the proxy is there") {
      try proxy.requireRunning("the proxy")
      return FileManager.default.fileExists(atPath: socket)
    }
  }

  /// The arguments by which bubblewrap shows a program everything read-only but one directory.
  private static func sandbox(_ info: String, writable: String) throws -> [String] {
    let root = try FileManager.default.contentsOfDirectory(atPath: "/").filter {
      !["dev", "proc", ".flatpak-info"].contains($0)
    }
    let parts = root.flatMap { name -> [String] in
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/\(name)")
      return target.map { ["--symlink", $0, "/\(name)"] } ?? ["--ro-bind", "/\(name)", "/\(name)"]
    }
    let place = URL(filePath: writable).standardizedFileURL.path
    return ["--die-with-parent", "--dev", "/dev", "--proc", "/proc"] + parts
      + ["--bind", place, place, "--ro-bind", info, "/.flatpak-info"]
  }

  /// Runs a program in the sandbox until it exits, and returns its output and its complaints.
  func run(_ program: String, _ arguments: String...) async throws -> String {
    let environment = bus.environment.merging([
      "DBUS_SESSION_BUS_ADDRESS": PrivateBus.address(of: bus["\(name)/bus"])
    ]) { $1 }
    let command = [program] + arguments
    return try await Program.run(
      "/usr/bin/bwrap",
      try Self.sandbox(bus["\(name)/info"], writable: bus["home/.."])
        + ["/bin/sh", "-c", "\"$@\" 2>&1 || true", "sh"] + command,
      environment: environment)
  }

  /// Runs the app that keeps a user in its keychain.
  func app(_ arguments: String...) async throws -> String {
    let program = BuildDirectory.program("SessionToolsSandboxedApp")
    return try await arguments.count == 1
      ? run(program, arguments[0]) : run(program, arguments[0], arguments[1])
  }
}
