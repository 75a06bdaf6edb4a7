import Foundation
import FoundationNetworking
import SessionToolsTestSupport

/// A real authorization server with refresh tokens that can be used once.
///
/// The server ends with this object.
package final class AuthlibServer: Sendable {
  /// What the server has counted.
  package struct Counts: Decodable, Equatable {
    package let signIns: Int
    package let refreshes: Int
    /// Spent tokens that were used again, which revoked all tokens of the sign-in.
    package let reuses: Int
    package let rejected: Int
    /// Requests that came to the token endpoint while the setting `hold` was 1.
    package let held: Int
    /// Logins that a person allowed in the form.
    package let logins: Int
    package let codesRefused: Int
    package let revocations: Int
    /// How often devices have polled for the login.
    package let questions: Int
  }

  package struct Failure: Error {
    package let reason: String
  }

  package let address: String
  private let process: Child
  /// Kept open, because the server may write its line in two parts.
  private let output: ClosedPipe

  package init() throws {
    let environment = ProcessInfo.processInfo.environment
    guard let packages = environment["SESSION_TOOLS_OAUTH_PACKAGES"] else {
      throw Failure(reason: "start the tests with Tests/run, which installs Authlib and Flask")
    }
    output = try ClosedPipe()
    let complaints = try CapturedText()
    process = try Child(
      "/usr/bin/python3", ["\(SourceDirectory.path)/Tests/Services/AuthorizationServer/server.py"],
      environment: environment.merging(
        ["PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"]) { $1 },
      output: output.writer.fileDescriptor, errors: complaints.writer.fileDescriptor)
    try output.writer.close()
    let line = output.reader.availableData
    address = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
    guard address.hasPrefix("http") else {
      throw Failure(reason: "the server did not start: \(complaints.text)")
    }
  }

  deinit {
    kill()
  }

  /// Kills the server, as in a crash.
  package func kill() {
    process.kill()
    process.waitUntilExit()
  }

  /// Logs a user in, and returns the refresh token.
  package func signIn(_ user: String) async throws -> String {
    struct Answer: Decodable {
      let refresh_token: String
    }
    let name = user.replacing(" ", with: "+")
    let data = try await post(
      "grant_type=password&username=\(name)&password=open+sesame&client_id=app", to: "/token")
    return try JSONDecoder().decode(Answer.self, from: data).refresh_token
  }

  @discardableResult
  private func post(_ form: String, to path: String) async throws -> Data {
    guard let url = URL(string: address + path) else { throw Failure(reason: address) }
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.httpBody = Data(form.utf8)
    request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
    return try await URLSession.shared.data(for: request).0
  }

  package func counts() async throws -> Counts {
    guard let url = URL(string: address + "/test/counts") else { throw Failure(reason: address) }
    return try JSONDecoder().decode(Counts.self, from: await URLSession.shared.data(from: url).0)
  }

  /// Changes the server's settings, such as `uses=3`.
  package func set(_ settings: String) async throws {
    try await post(settings, to: "/test/settings")
  }

  /// Returns the status of a request with an access token: 200 if it is valid, 401 otherwise.
  package func status(with accessToken: String) async throws -> Int {
    guard let url = URL(string: address + "/me") else { throw Failure(reason: address) }
    var request = URLRequest(url: url)
    request.setValue("Bearer \(accessToken)", forHTTPHeaderField: "Authorization")
    let (_, response) = try await URLSession.shared.data(for: request)
    return (response as? HTTPURLResponse)?.statusCode ?? 0
  }
}
