import Foundation
import FoundationNetworking
import SessionToolsOAuthTestSupport
import SessionTools
import SessionToolsTestSupport
import Testing

/// The article's service with its credential, its directory and an authorization server.
final class ServiceStage: Sendable {
  static let article = ReadmeTests.file(
    "Sources/SessionTools/SessionTools.docc/AServiceWithManyAccounts.md")

  static func blocks(_ language: String) -> [String] {
    ReadmeTests.blocks(language, in: article)
  }

  let server: AuthlibServer
  private let program: ArticleProgram
  private let tool: Tool

  init() throws {
    server = try AuthlibServer()
    tool = try Tool()
    let text = try #require(Self.blocks("swift").first)
    program = try ArticleProgram(Self.adapted(text, to: server.address))
    for name in ["credentials", "state"] {
      try FileManager.default.createDirectory(
        atPath: tool[name], withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }
    // As systemd would, a file of 32 bytes.
    _ = try KeyFile.create(at: tool["credentials/store-key"])
  }

  /// Returns an article's program with an authorization server of a test's own.
  static func adapted(_ program: String, to address: String) throws -> String {
    var text = program
    for (shown, used) in [
      ("https://login.example.com", address), (#"clientID: "mail""#, #"clientID: "app""#),
      ("https://mail.example.com/inbox", address + "/me"),
      ("pause = Duration.seconds(60)", "pause = Duration.milliseconds(200)"),
    ] {
      try #require(text.components(separatedBy: shown).count == 2, "\(shown) is there once")
      text = text.replacing(shown, with: used)
    }
    return text
  }

  private var environment: [String: String] {
    tool.environment.merging([
      "CREDENTIALS_DIRECTORY": tool["credentials"], "STATE_DIRECTORY": tool["state"],
    ]) { $1 }
  }

  /// Logs users in at the server, and imports their refresh tokens into the service's store.
  ///
  /// - Returns: The tokens.
  @discardableResult
  func importUsers(_ users: Range<Int>) async throws -> [String] {
    var tokens: [String: String] = [:]
    for user in users { tokens["user \(user)"] = try await server.signIn("user \(user)") }
    let json = String(decoding: try JSONEncoder().encode(tokens), as: UTF8.self)
    try await Program.run(program.path, ["import"], input: json, environment: environment)
    return Array(tokens.values)
  }

  /// Seals everything again with the command that the article names.
  func rotate() async throws {
    try await Program.run(
      Tool.program, ["rotate", tool["state/accounts"], "--credential", "store-key"],
      environment: environment)
  }

  /// Starts the service.
  func start(_ changes: [String: String] = [:]) throws -> RunningService {
    try RunningService(
      program.path, log: tool["log-\(UUID().uuidString)"],
      environment: environment.merging(changes) { $1 })
  }
}

/// A process of the service, which writes its log to a file and ends at the latest with this
/// object.
final class RunningService: Sendable {
  private let process: Child
  private let path: String

  init(_ program: String, log path: String, environment: [String: String]) throws {
    self.path = path
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    process = try Child(
      "/bin/sh", ["-c", #"exec "$0" 2> "$1""#, program, path], environment: environment)
  }

  deinit {
    process.kill()
    process.waitUntilExit()
  }

  /// What the service has written so far.
  var log: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

  var lines: [Substring] { log.split(separator: "\n") }

  func signal(_ number: Int32) { process.kill(number) }

  func waitUntilExit() -> Int32 { process.waitUntilExit() }

  /// Returns whether a round, after some lines of the log, had a number of users, and each of them
  /// got the status 200.
  func roundWithoutFailure(of count: Int, after first: Int = 0) -> Bool {
    let lines = lines.dropFirst(first)
    // The lines of each round end with its summary.
    let rounds = lines.split { $0.hasPrefix("synchronized ") }
    return lines.contains("synchronized \(count) accounts")
      && rounds.contains { $0.count(where: { $0.hasSuffix(": status 200") }) == count }
  }
}
