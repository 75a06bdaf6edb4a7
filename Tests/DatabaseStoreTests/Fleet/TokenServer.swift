import Foundation
import SessionToolsTestSupport

/// An authorization server, each of whose refresh tokens can be used once; using one again revokes
/// the user's current one.
final class TokenServer: Sendable {
  struct Counts: Decodable, Equatable {
    let received: Int
    let reused: Int
  }

  let address: String
  private let process: Child
  private let output: ClosedPipe

  /// Starts a server that answers after a time.
  init(after delay: Duration) throws {
    output = try ClosedPipe()
    process = try Child(
      "/usr/bin/python3",
      ["\(SourceDirectory.path)/Tests/Services/CrowdedServer/server.py", "\(delay / .seconds(1))"],
      environment: [:], output: output.writer.fileDescriptor)
    try output.writer.close()
    address = String(decoding: output.reader.availableData, as: UTF8.self)
      .trimmingCharacters(in: .newlines)
  }

  deinit {
    process.kill()
    process.waitUntilExit()
  }

  func counts() throws -> Counts { try answer("/counts") }

  /// The users whose tokens were revoked.
  func revoked() throws -> Set<Int> {
    Set((try answer("/revoked") as [String]).compactMap { Int($0) })
  }

  /// How many tokens of a user were spent.
  func spentCount(of user: Int) throws -> Int {
    let tokens: [String: String] = try answer("/tokens")
    return tokens["\(user)"]?.split(separator: "-").last.flatMap { Int($0) } ?? 0
  }

  private func answer<Answer: Decodable>(_ path: String) throws -> Answer {
    guard let url = URL(string: address + path) else { throw CocoaError(.fileReadUnknown) }
    return try JSONDecoder().decode(Answer.self, from: Data(contentsOf: url))
  }
}
