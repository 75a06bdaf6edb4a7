import Foundation
import FoundationNetworking
import InMemoryTracing
import OAuthLogin
import SessionToolsAsyncHTTPClient
import SessionToolsBase
import Testing
import Tracing

/// The HTTP client on AsyncHTTPClient, with a server whose answers a client must not accept.
@Suite(.serialized) struct `an HTTP client on AsyncHTTPClient` {
  /// Unchecked, because nothing is changed after the start.
  private final class Server: @unchecked Sendable {
    private let process = Process()
    let address: String

    init(certificate: String? = nil) throws {
      let output = Pipe()
      let script = URL(filePath: #filePath).appending(
        path: "../../../../Services/RudeServer/server.py")
      process.executableURL = URL(filePath: "/usr/bin/python3")
      process.arguments = [script.standardizedFileURL.path] + (certificate.map { [$0] } ?? [])
      process.standardOutput = output
      try process.run()
      let port = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      address =
        "\(certificate == nil ? "http" : "https")://127.0.0.1:\(port.trimmingCharacters(in: .newlines))"
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
    let http = AsyncOAuthHTTPClient(timeout: timeout)
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
    at path: String, by http: AsyncOAuthHTTPClient
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

  @Test func `repeats nothing by itself, not even over a connection that was kept`() async throws {
    let http = AsyncOAuthHTTPClient()
    _ = try await refresh(at: "/token", by: http)
    let error = await #expect(throws: WebLoginError.self) {
      try await refresh(at: "/drop", by: http)
    }
    try await http.shutdown()
    let underlying = error?.underlying as? OAuthHTTPError
    #expect(underlying?.code == .noResponse && underlying?.wasSent == true)
    // Twice by the refresh, whose answer was lost, and each time once by the client.
    #expect(try ask("/seen") == "/token\n/drop\n/drop\n/seen")
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

  @Test func `keeps the tokens of an answer that breaks off`() async throws {
    let credential = try await refresh(at: "/torn")
    #expect(credential.accessToken == "new" && credential.refreshToken == "next")
  }

  @Test func `sends no trace to the login server`() async throws {
    let tracer = InMemoryTracer()
    InstrumentationSystem.bootstrap(tracer)
    _ = try await withSpan("login") { _ in try await refresh(at: "/token") }
    #expect(try !ask("/names").contains("trace"))
    #expect(tracer.finishedSpans.map(\.operationName) == ["login"])
  }

  @Test func `sends many requests at a time`() async throws {
    let http = AsyncOAuthHTTPClient()
    try await withThrowingTaskGroup { group in
      for _ in 0..<200 {
        group.addTask { _ = try await refresh(at: "/token", by: http) }
      }
      try await group.waitForAll()
    }
    try await http.shutdown()
    #expect(try ask("/seen").components(separatedBy: "/token").count == 201)
  }

  @Test func `sends nothing to a server whose certificate is not trusted`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let certificate = directory.appending(path: "certificate.pem").path
    let openssl = try Process.run(
      URL(filePath: "/usr/bin/openssl"),
      arguments: [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", certificate, "-out",
        certificate + ".public",
      ])
    openssl.waitUntilExit()
    let file = try FileHandle(forWritingTo: URL(filePath: certificate))
    try file.seekToEnd()
    try file.write(contentsOf: Data(contentsOf: URL(filePath: certificate + ".public")))
    try file.close()
    let stranger = try Server(certificate: certificate)
    let http = AsyncOAuthHTTPClient()
    let endpoint = try AuthorizationServer(
      issuer: "test", authorizationEndpoint: nil, tokenEndpoint: stranger.address + "/token")
    let client = OAuthClient(server: endpoint, clientID: "app", http: http)
    let error = await #expect(throws: WebLoginError.self) {
      try await client.refresh(
        OAuthCredential(accessToken: "old", refreshToken: "spent", expirationDate: nil))
    }
    try await http.shutdown()
    let underlying = error?.underlying as? OAuthHTTPError
    #expect(underlying?.code == .insecure && underlying?.wasSent == false)
    #expect(error?.isTransient == false)
  }
}
