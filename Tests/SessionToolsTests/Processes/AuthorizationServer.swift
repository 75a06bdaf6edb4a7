import Foundation
import FoundationNetworking
import TestSupport

/// A real authorization server, with refresh tokens that can be used once; ends with this object.
final class AuthorizationServer: Sendable {
  /// What it has done.
  struct Counts: Decodable, Equatable {
    let signIns: Int
    let refreshes: Int
    /// Spent tokens that came again, for which all of the sign-in was revoked.
    let reuses: Int
    let rejected: Int
  }

  struct Failure: Error {
    let reason: String
  }

  let address: String
  private let process = Process()

  init() throws {
    let environment = ProcessInfo.processInfo.environment
    guard let packages = environment["SESSION_TOOLS_OAUTH_PACKAGES"] else {
      throw Failure(reason: "run by Tests/run, which installs Authlib and Flask")
    }
    let output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = ["\(SourceDirectory.path)/Tests/AuthorizationServer/server.py"]
    process.environment = environment.merging([
      "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1",
    ]) { $1 }
    process.standardOutput = output
    try process.run()
    let line = output.fileHandleForReading.availableData
    address = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
    guard address.hasPrefix("http") else { throw Failure(reason: "it did not start") }
  }

  deinit {
    // Started by a thread that blocks other signals, as those of Dispatch do, it never hears them.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  func counts() async throws -> Counts {
    guard let url = URL(string: address + "/test/counts") else { throw Failure(reason: address) }
    return try JSONDecoder().decode(Counts.self, from: await URLSession.shared.data(from: url).0)
  }

  /// Changes its settings, such as `uses=3`.
  func set(_ settings: String) async throws {
    guard let url = URL(string: address + "/test/settings") else { throw Failure(reason: address) }
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.httpBody = Data(settings.utf8)
    request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
    _ = try await URLSession.shared.data(for: request)
  }
}
