import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsOAuthTestSupport
import SealedStore
import SessionToolsTestSupport
import Testing

/// The service of the article about several machines, with a database and an authorization server.
final class FleetStage: Sendable {
  static let article = ReadmeTests.file(
    "Sources/DatabaseStore/DatabaseStore.docc/AServiceOnSeveralMachines.md")
  /// The most users of one import, because of the store's limit for a change.
  private static let maximumImport = 400

  let server: AuthlibServer
  private let database: DatabaseServer
  private let program: ArticleProgram
  private let directory: TemporaryDirectory

  init() async throws {
    server = try AuthlibServer()
    database = try await DatabaseServer()
    directory = try TemporaryDirectory()
    program = try ArticleProgram(Self.program(server.address))
    try FileManager.default.createDirectory(
      atPath: directory["credentials"], withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let key = try KeyFile.create(at: directory["credentials/store-key"])
    _ = try SealedDatabaseStore.create(at: database.address(), key: key)
  }

  /// Returns the program of the article about one machine, with the store of this article.
  private static func program(_ address: String) throws -> String {
    var text = try #require(ServiceStage.blocks("swift").first)
    let start = try #require(text.range(of: "  init() throws {\n")).lowerBound
    let end = try #require(text[start...].range(of: "\n  }\n")).upperBound
    let ours = try #require(ReadmeTests.blocks("swift", in: article).first)
    text.replaceSubrange(start..<end, with: ours + "\n")
    text = text.replacing("let store: SealedFileStore", with: "let store: SealedDatabaseStore")
    return try "import DatabaseStore\n" + ServiceStage.adapted(text, to: address)
  }

  /// Logs users in at the server, and imports their refresh tokens.
  func importUsers(_ users: Range<Int>) async throws {
    for start in stride(from: users.lowerBound, to: users.upperBound, by: Self.maximumImport) {
      var tokens: [String: String] = [:]
      for user in start..<min(start + Self.maximumImport, users.upperBound) {
        tokens["user \(user)"] = try await server.signIn("user \(user)")
      }
      let json = String(decoding: try JSONEncoder().encode(tokens), as: UTF8.self)
      try await Program.run(
        program.path, ["import"], input: json, environment: environment(database.port))
    }
  }

  private func environment(_ port: UInt16) -> [String: String] {
    [
      "PATH": "/usr/bin:/bin", "CREDENTIALS_DIRECTORY": directory["credentials"],
      "DATABASE": database.address(port: port),
    ]
  }

  /// Starts an instance with a line of its own to the database.
  func start() throws -> Instance {
    let line = try FaultProxy(to: database.port)
    let service = try RunningService(
      program.path, log: directory["log-\(UUID().uuidString)"],
      environment: environment(line.port))
    return Instance(service: service, line: line)
  }

  struct Instance {
    let service: RunningService
    let line: FaultProxy
  }
}
