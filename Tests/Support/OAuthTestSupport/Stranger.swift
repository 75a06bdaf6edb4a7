import Foundation
import SessionToolsTestSupport

/// Another process on this machine, which connects to a port that it has nothing to do with.
package final class Stranger: Sendable {
  private static let program = "\(SourceDirectory.path)/Tests/Services/WebBrowser/stranger.py"

  private let process: Child
  private let input: ClosedPipe
  private let output: ClosedPipe

  /// Sends some bytes, and returns the whole answer.
  package static func send(_ bytes: String, to port: UInt16) async throws -> String {
    try await Program.run(
      "/usr/bin/python3", [program, "send", "\(port)"], input: bytes, environment: [:])
  }

  /// Sends some bytes by a process of another user, which only root can start.
  ///
  /// With the manner `rush` the process leaves without waiting for an answer.
  package static func send(
    _ bytes: String, to port: UInt16, as user: Int, manner: String = "send",
    host: String = "127.0.0.1"
  ) async throws -> String {
    // Passed as text, because the other user may not be able to read the sources.
    let text = try String(contentsOfFile: program, encoding: .utf8)
    return try await Program.run(
      "/usr/bin/setpriv",
      [
        "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "/usr/bin/python3", "-c", text,
        manner,
        "\(port)", host,
      ], input: bytes, environment: [:])
  }

  /// Sends some bytes, closes the sending direction, and returns the answer.
  package static func sendAll(_ bytes: String, to port: UInt16) async throws -> String {
    try await Program.run(
      "/usr/bin/python3", [program, "half", "\(port)"], input: bytes, environment: [:])
  }

  /// Gets a page, as a program that knows the address would.
  ///
  /// - Returns: The head and the body.
  package static func get(_ target: String, from port: UInt16) async throws -> String {
    try await send("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port)
  }

  /// Connects many times and stays connected, either silent or sending single bytes without end.
  package init(_ manner: String, _ count: Int, at port: UInt16) throws {
    input = try ClosedPipe()
    output = try ClosedPipe()
    process = try Child(
      "/usr/bin/python3", [Self.program, manner, "\(port)", "\(count)"], environment: [:],
      input: input.reader.fileDescriptor, output: output.writer.fileDescriptor)
    try output.writer.close()
    // Waits until it has connected.
    _ = output.reader.availableData
  }

  deinit {
    process.kill()
    process.waitUntilExit()
  }
}
