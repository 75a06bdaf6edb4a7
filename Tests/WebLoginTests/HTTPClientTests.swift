import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

/// With a server whose answers a client must not accept.
@Suite(.serialized, .onOwnThread) struct `the HTTP client` {
  private let server: Child
  private let output: ClosedPipe
  private let port: String

  init() throws {
    output = try ClosedPipe()
    server = try Child(
      "/usr/bin/python3", ["\(SourceDirectory.path)/Tests/Services/RudeServer/server.py"],
      environment: [:],
      output: output.writer.fileDescriptor)
    try output.writer.close()
    port = String(decoding: output.reader.availableData.filter { $0 != 0x0A }, as: UTF8.self)
  }

  private func send(
    _ path: String, by http: CurlHTTPClient = CurlHTTPClient()
  ) async throws -> OAuthHTTPResponse {
    try await http.send(request(path))
  }

  private func request(_ path: String) async throws -> OAuthHTTPRequest {
    let caught = Shared<OAuthHTTPRequest?>(nil)
    let server = try AuthorizationServer(
      issuer: "test", authorizationEndpoint: nil, tokenEndpoint: "http://127.0.0.1:\(port)\(path)")
    let client = OAuthClient(
      server: server, clientID: "app",
      http: WatchedHTTP { request in
        caught.update { $0 = request }
        return OAuthHTTPResponse(200)
      })
    _ = try? await client.refresh(
      OAuthCredential(accessToken: "a", refreshToken: "r", expirationDate: nil))
    return try #require(caught.now)
  }

  /// Returns the paths that were requested; the last is that of this request.
  private func seen() async throws -> [String] {
    String(decoding: try await send("/seen").body, as: UTF8.self).split(separator: "\n")
      .map(String.init)
  }

  @Test(arguments: [("/redirect", 307), ("/see-other", 303)])
  func `follows no redirect`(_ path: String, _ status: Int) async throws {
    defer { server.kill() }
    #expect(try await send(path).status == status)
    #expect(try await seen() == [path, "/seen"])
  }

  @Test func `survives redirects that arrive while it gives up`() async throws {
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
    let error = await #expect(throws: OAuthHTTPError.self) { try await send("/drop") }
    #expect(error?.code == .noResponse)
    #expect(error?.wasSent == true)
    #expect(try await seen() == ["/one", "/drop", "/seen"])
  }

  @Test func `reads no more than its limit`() async throws {
    defer { server.kill() }
    let error = await #expect(throws: OAuthHTTPError.self) { try await send("/large") }
    #expect(error?.code == .tooLarge)
    let large = CurlHTTPClient(maximumByteCount: 6_000_000)
    #expect(try await send("/large", by: large).body.count == 5_000_000)
  }

  @Test func `passes on what arrived of an answer that broke off`() async throws {
    defer { server.kill() }
    let error = await #expect(throws: OAuthHTTPError.self) { try await send("/short") }
    #expect(error?.code == .noResponse && error?.status == 200)
    #expect(error?.received?.body == Data("{}".utf8))
    let nothing = await #expect(throws: OAuthHTTPError.self) { try await send("/drop") }
    #expect(nothing?.received == nil)
  }

  @Test func `unpacks an answer that is packed although nothing asked for it`() async throws {
    defer { server.kill() }
    #expect(try await send("/packed").body == Data(repeating: UInt8(ascii: "x"), count: 20))
    let error = await #expect(throws: OAuthHTTPError.self) { try await send("/bomb") }
    #expect(error?.code == .tooLarge)
  }

  /// The server can send what the kernel buffers, and no more.
  @Test(arguments: ["/endless", "/declared", "/fields"])
  func `reads no more of an endless answer than its limit`(_ path: String) async throws {
    defer { server.kill() }
    let error = await #expect(throws: OAuthHTTPError.self) { try await send(path) }
    #expect(error?.code == .tooLarge)
    let sent = try #require(Int(String(decoding: try await send("/sent").body, as: UTF8.self)))
    #expect(sent < 32 << 20)
  }

  @Test func `gives up in time and at once when it is cancelled`() async throws {
    defer { server.kill() }
    for path in ["/hang", "/trickle"] {
      let error = await #expect(throws: OAuthHTTPError.self) {
        try await send(path, by: CurlHTTPClient(timeout: .seconds(3)))
      }
      #expect(error?.code == .timedOut)
      #expect(error?.wasSent == true)
    }
    let hanging = Task { try await send("/hang") }
    hanging.cancel()
    await #expect(throws: (any Error).self) { try await hanging.value }
  }

  @Test func `sends nothing for a task that was already cancelled`() async throws {
    defer { server.kill() }
    let request = try await request("/cancelled")
    // The client's thread runs meanwhile, and is quick.
    let hanging = Task { try await send("/hang") }
    for _ in 0..<TestSize.choose(small: 200, medium: 3000, large: 100_000) {
      let task = Task {
        // Returns when the task is cancelled, so that the request begins in a cancelled task.
        try? await Task.sleep(for: patience)
        return try await CurlHTTPClient().send(request)
      }
      task.cancel()
      let error = await #expect(throws: OAuthHTTPError.self) { try await task.value }
      #expect(error?.code == .cancelled)
    }
    hanging.cancel()
    #expect(try await seen().count { $0 == "/cancelled" } == 0)
  }

  @Test func `leaves its connections to none of the programs started meanwhile`() async throws {
    defer { server.kill() }
    let hanging = Task { try await send("/hang") }
    defer { hanging.cancel() }
    try await wait(until: "it is sent") { try await seen().contains("/hang") }
    let inode = try connection()
    let links = try await Program.run("/bin/ls", ["-l", "/proc/self/fd"], environment: [:])
    #expect(!links.contains("socket:[\(inode)]"), "\(links)")
    let own = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
    #expect(own.contains("socket:[\(inode)]"))
  }

  /// Returns the inode of the socket that is connected to the server.
  private func connection() throws -> String {
    let port = String(try #require(Int(port)), radix: 16, uppercase: true)
    // By a handle, because a file of reported size 0 is not read to its end by its path.
    let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/net/tcp"))
    let table = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    let rows = table.split(separator: "\n").map { $0.split(separator: " ") }
    // 01 is ESTABLISHED.
    let row = rows.first { row in
      row[2] == "0100007F:\(String(repeating: "0", count: 4 - port.count))\(port)"
        && row[3] == "01" && row[9] != "0"
    }
    let found = try #require(row)
    return String(found[9])
  }

  @Test func `accepts any timeout`() async throws {
    defer { server.kill() }
    for timeout in [Duration.seconds(Int64.max), .seconds(1e12)] {
      #expect(try await send("/one", by: CurlHTTPClient(timeout: timeout)).status == 200)
    }
    let error = await #expect(throws: OAuthHTTPError.self) {
      try await send("/one", by: CurlHTTPClient(timeout: .seconds(-1)))
    }
    #expect(error?.code == .timedOut && error?.wasSent == false)
  }
}
