import Foundation
import FoundationNetworking
import SessionToolsBase
import Testing
import WebLogin

/// The example of the article *Another HTTP client*, with a server whose answers a client must not
/// accept.
@Suite(.serialized) struct `an HTTP client on AsyncHTTPClient` {
  /// Unchecked, because nothing is changed after the start.
  private final class Server: @unchecked Sendable {
    private let process = Process()
    let address: String

    init() throws {
      let output = Pipe()
      let script = URL(filePath: #filePath).appending(
        path: "../../../../Services/RudeServer/server.py")
      process.executableURL = URL(filePath: "/usr/bin/python3")
      process.arguments = [script.standardizedFileURL.path]
      process.standardOutput = output
      try process.run()
      let port = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      address = "http://127.0.0.1:\(port.trimmingCharacters(in: .newlines))"
    }

    /// Kills the server, because SIGTERM is blocked on the pool's threads and so in their children.
    func stop() {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }

    deinit {
      kill(process.processIdentifier, SIGKILL)
    }
  }

  private let server: Server

  init() throws {
    server = try Server()
  }

  private func refresh(
    at path: String, timeout: Duration = .seconds(30)
  ) async throws -> OAuthCredential {
    let http = NIOLoginClient(timeout: timeout)
    let result: Result<OAuthCredential, any Error>
    do {
      result = .success(try await refresh(at: path, by: http))
    } catch {
      result = .failure(error)
    }
    try await http.shutdown()
    return try result.get()
  }

  private func refresh(
    at path: String, by http: NIOLoginClient
  ) async throws -> OAuthCredential {
    let endpoint = try AuthorizationServer(
      issuer: "test", authorizationEndpoint: nil, tokenEndpoint: server.address + path)
    let client = OAuthClient(server: endpoint, clientID: "app", http: http)
    return try await client.refresh(
      OAuthCredential(accessToken: "old", refreshToken: "spent", expirationDate: nil))
  }

  /// Returns the errors of a refresh that fails: the login's and the client's.
  private func failure(
    at path: String, timeout: Duration = .seconds(30)
  ) async throws -> (WebLoginError, OAuthHTTPError?) {
    let error = await #expect(throws: WebLoginError.self) {
      try await refresh(at: path, timeout: timeout)
    }
    return (try #require(error), error?.underlying as? OAuthHTTPError)
  }

  private func ask(_ path: String) throws -> String {
    let url = try #require(URL(string: server.address + path))
    return String(decoding: try Data(contentsOf: url), as: UTF8.self)
  }

  @Test func `refreshes a credential`() async throws {
    let credential = try await refresh(at: "/token")
    #expect(credential.accessToken == "new" && credential.refreshToken == "next")
  }

  @Test(arguments: ["/redirect", "/see-other"])
  func `follows no redirect`(_ path: String) async throws {
    let (error, _) = try await failure(at: path)
    #expect(error.code == .invalidResponse)
    #expect(try ask("/seen") == "\(path)\n/seen")
  }

  @Test func `sends nothing twice, not even over a connection that was kept`() async throws {
    let http = NIOLoginClient()
    _ = try await refresh(at: "/token", by: http)
    let error = await #expect(throws: WebLoginError.self) {
      try await refresh(at: "/drop", by: http)
    }
    try await http.shutdown()
    let underlying = error?.underlying as? OAuthHTTPError
    #expect(underlying?.code == .noResponse && underlying?.wasSent == true)
    #expect(try ask("/seen") == "/token\n/drop\n/seen")
  }

  @Test(arguments: ["/large", "/endless", "/declared", "/fields"])
  func `reads no more than its limit`(_ path: String) async throws {
    let (error, underlying) = try await failure(at: path)
    #expect(error.code == .responseTooLarge)
    #expect(underlying?.code == .tooLarge)
    // No more was sent than the kernel buffers.
    #expect(try #require(Int(ask("/sent"))) < 32 << 20)
  }

  @Test(arguments: ["/hang", "/trickle"])
  func `gives up in time`(_ path: String) async throws {
    var found: OAuthHTTPError?
    let time = try await ContinuousClock().measure {
      found = try await failure(at: path, timeout: .milliseconds(300)).1
    }
    #expect(found?.code == .timedOut && found?.wasSent == true)
    #expect(time >= .milliseconds(300) && time < .seconds(20))
  }

  @Test func `returns at once when it is cancelled`() async throws {
    let hanging = Task { try await refresh(at: "/hang") }
    while try !ask("/seen").contains("/hang") {}
    hanging.cancel()
    let error = await #expect(throws: WebLoginError.self) { try await hanging.value }
    #expect(error?.code == .cancelled)
  }

  @Test func `reports that nothing was sent to a server that does not run`() async throws {
    server.stop()
    let (error, underlying) = try await failure(at: "/token")
    #expect(error.code == .unreachable)
    #expect(underlying?.code == .noResponse && underlying?.wasSent == false)
  }
}
