import Foundation
import SessionToolsTestSupport

/// An authorization server that answers as a test wants, and the tool in front of it.
final class PliableServer: Sendable {
  let address: String
  let tool: Tool
  private let process: Child
  private let output: ClosedPipe

  init() throws {
    tool = try Tool()
    try tool.run("session-tools init store")
    output = try ClosedPipe()
    process = try Child(
      "/usr/bin/python3", ["\(SourceDirectory.path)/Tests/Services/PliableServer/server.py"],
      environment: [:], output: output.writer.fileDescriptor)
    try output.writer.close()
    address = String(decoding: output.reader.availableData, as: UTF8.self)
      .trimmingCharacters(in: .newlines)
  }

  deinit {
    process.kill()
    process.waitUntilExit()
  }

  /// Runs `session-tools` with the options that every command of a login takes.
  func run(_ command: String, environment: [String: String] = [:]) throws -> Tool.Outcome {
    try tool.run(
      "session-tools \(command) --store store --service mail", environment: environment)
  }

  /// Logs in, with curl as the browser.
  func signIn(_ options: String = "") throws -> Tool.Outcome {
    try run(
      "login --issuer \(address) --client-id app \(options)", environment: ["BROWSER": browser()])
  }

  /// Returns a program that opens an address and follows its redirects.
  private func browser() throws -> String {
    let path = tool["browser"]
    try "#!/bin/sh\nexec curl --silent --location \"$1\" >/dev/null\n".write(
      toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    return path
  }

  /// Sets the answer of an endpoint.
  func answer(_ endpoint: String, _ body: String, status: Int = 200) throws {
    let text = String(decoding: try JSONEncoder().encode(body), as: UTF8.self)
    try set("{\"\(endpoint)\": [\(status), \(text)]}")
  }

  func set(_ json: String) throws {
    let outcome = try tool.run(
      "curl --silent --fail --data-binary @- \(address)/test/set <<'END'\n\(json)\nEND")
    precondition(outcome.status == 0, "\(outcome.complaint)")
  }

  /// Returns the requests so far, each as its path and its fields.
  func seen() throws -> [(path: String, fields: [String])] {
    try tool.run("curl --silent --fail \(address)/test/seen").text.split(separator: "\n").map {
      let parts = $0.split(separator: " ")
      let fields = parts.dropFirst().first?.split(separator: "&").map(String.init)
      return (String(parts[0]), fields ?? [])
    }
  }
}
