import Foundation
import SessionToolsBase
import TestSupport
import TestThreads
import Testing
import WebLogin

/// At a server that answers each path with what a client must not take.
@Suite(.serialized, .onOwnThread) struct `the HTTP client` {
  private let server: Child
  private let output: ClosedPipe
  private let port: String

  init() throws {
    output = try ClosedPipe()
    server = try Child(
      "/usr/bin/python3", ["\(SourceDirectory.path)/Tests/RudeServer/server.py"], environment: [:],
      output: output.writer.fileDescriptor)
    try output.writer.close()
    port = String(decoding: output.reader.availableData.filter { $0 != 0x0A }, as: UTF8.self)
  }

  private func send(
    _ path: String, by http: CurlHTTPClient = CurlHTTPClient()
  ) async throws -> HTTPResponse {
    let caught = Shared<HTTPRequest?>(nil)
    let server = try AuthorizationServer(
      issuer: "test", authorizationEndpoint: nil, tokenEndpoint: "http://127.0.0.1:\(port)\(path)")
    let client = OAuthClient(
      server: server, clientID: "app",
      http: WatchedHTTP { request in
        caught.update { $0 = request }
        return HTTPResponse(200)
      })
    _ = try? await client.refresh(
      OAuthCredential(accessToken: "a", refreshToken: "r", expirationDate: nil))
    return try await http.send(try #require(caught.now))
  }

  @Test(arguments: [("/redirect", 307), ("/see-other", 303)])
  func `follows no redirect`(_ path: String, _ status: Int) async throws {
    defer { server.kill() }
    #expect(try await send(path).status == status)
    let seen = String(decoding: try await send("/seen").body, as: UTF8.self)
    #expect(seen == "\(path)\n/seen")
  }

  @Test func `survives redirects that come while it gives up`() async throws {
    defer { server.kill() }
    for number in 0..<150 {
      let timeout = Duration.microseconds(number * 40)
      _ = try? await send("/redirect", by: CurlHTTPClient(timeout: timeout))
    }
    #expect(try await send("/see-other").status == 303)
  }

  @Test func `keeps no cookie`() async throws {
    defer { server.kill() }
    #expect(try await send("/one")["x-cookie"] == "none")
    #expect(try await send("/two")["X-Cookie"] == "none")
  }

  @Test func `sends nothing twice`() async throws {
    defer { server.kill() }
    _ = try await send("/one")
    let error = await #expect(throws: HTTPError.self) { try await send("/drop") }
    #expect(error?.code == HTTPError.noAnswer)
    #expect(error?.wasSent == true)
    let seen = String(decoding: try await send("/seen").body, as: UTF8.self)
    #expect(seen == "/one\n/drop\n/seen")
  }

  @Test func `reads no more than it should`() async throws {
    defer { server.kill() }
    let error = await #expect(throws: HTTPError.self) { try await send("/large") }
    #expect(error?.code == HTTPError.tooLarge)
    let large = CurlHTTPClient(largestByteCount: 6_000_000)
    #expect(try await send("/large", by: large).body.count == 5_000_000)
  }

  /// What the server could send is what the kernel holds of it, and no more.
  @Test(arguments: ["/endless", "/declared", "/fields"])
  func `reads no more of an answer without an end than it takes`(_ path: String) async throws {
    defer { server.kill() }
    let error = await #expect(throws: HTTPError.self) { try await send(path) }
    #expect(error?.code == HTTPError.tooLarge)
    let sent = try #require(Int(String(decoding: try await send("/sent").body, as: UTF8.self)))
    #expect(sent < 32 << 20)
  }

  @Test func `gives up in time and at once when it is cancelled`() async throws {
    defer { server.kill() }
    for path in ["/hang", "/trickle"] {
      let error = await #expect(throws: HTTPError.self) {
        try await send(path, by: CurlHTTPClient(timeout: .milliseconds(200)))
      }
      #expect(error?.code == HTTPError.timedOut)
      #expect(error?.wasSent == true)
    }
    let hanging = Task { try await send("/hang") }
    hanging.cancel()
    await #expect(throws: (any Error).self) { try await hanging.value }
  }
}
