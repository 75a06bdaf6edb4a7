import Foundation
import SealedStore
import SessionToolsTestSupport

/// The tool with a runtime directory of its own, and so with an agent of its own.
///
/// The agent ends at the latest when the directory is removed with the tool's.
final class AgentStage: Sendable {
  let tool: Tool
  let environment: [String: String]

  /// Prepares the tool; by default there is no logind.
  init(systemBus: String = "unix:path=/nonexistent") throws {
    tool = try Tool()
    environment = ["XDG_RUNTIME_DIR": tool["run"], "DBUS_SYSTEM_BUS_ADDRESS": systemBus]
    try FileManager.default.createDirectory(
      atPath: tool["run"], withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
  }

  /// The directory of the agent's socket.
  var directory: String { tool["run/session-tools"] }

  var hasSocket: Bool {
    FileManager.default.fileExists(atPath: "\(directory)/\(KeyAgent.socketName)")
  }

  /// Runs a line of bash.
  @discardableResult
  func run(_ line: String) throws -> Tool.Outcome {
    try tool.run(line, environment: environment)
  }

  /// Makes a store with the passphrase `geheim`.
  func makeStore(_ name: String = "store") throws {
    let made = try run(
      "printf geheim | session-tools init \(name) --passphrase-fd 0 --passphrase-memory 8 "
        + "--passphrase-passes 1")
    guard made.status == 0 else { throw NeverHappened(what: made.complaint) }
  }

  /// Unlocks a store with its passphrase.
  @discardableResult
  func unlock(_ name: String = "store", for time: String = "1h") throws -> Tool.Outcome {
    try run("printf geheim | session-tools unlock \(name) --passphrase-fd 0 --for \(time)")
  }

  /// Whether the agent's key opens a store: there is no terminal to ask at.
  func opens(_ name: String = "store") throws -> Bool {
    try run("session-tools list \(name)").status == 0
  }

  /// Connects to the agent from Python, and runs lines with the connection `s`.
  ///
  /// - Parameters:
  ///   - lines: The lines.
  ///   - words: A command that runs the program behind it, such as `setpriv` with options.
  /// - Returns: What it printed, and its status.
  /// - Throws: An error if it cannot be started.
  func connect(_ lines: String, by words: String = "") throws -> Tool.Outcome {
    let script = """
      import os, socket, struct, subprocess
      def connected():
          s = socket.socket(socket.AF_UNIX)
          s.connect("run/session-tools/agent.sock")
          s.settimeout(60)
          return s
      s = connected()
      \(lines)
      """
    try script.write(toFile: tool["peer.py"], atomically: true, encoding: .utf8)
    return try run("\(words) python3 peer.py")
  }

  /// Returns the identifier of the agent's process.
  func process() throws -> Int32 {
    let outcome = try connect(
      "print(struct.unpack('3i', s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])")
    guard let process = Int32(outcome.text.dropLast()) else {
      throw NeverHappened(what: "a connection: \(outcome.complaint)")
    }
    return process
  }

  /// Returns whether a process runs; one that has ended and is not waited for does not.
  func isRunning(_ process: Int32) throws -> Bool {
    try !run("cat /proc/\(process)/cmdline").text.isEmpty
  }
}
