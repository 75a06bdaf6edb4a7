import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

extension `one at a time` {
  /// A port to which other processes of the machine connect.
  @Suite struct `a listener` {
    /// Returns a listener that answers every request with its path.
    private func listener(
      _ family: LoopbackSocket.Family = .version4, patience: Duration = .seconds(10)
    ) throws -> LoopbackListener {
      var limits = LoopbackListener.Limits()
      limits.patience = patience
      let listener = try LoopbackListener(on: family, limits: limits)
      listener.serve { request in
        switch request {
        case .success(let request): LoopbackResponse(.fine, "path \(request.path)")
        case .failure: LoopbackResponse(.badRequest, "no")
        }
      }
      return listener
    }

    @Test func `answers while hundreds of others are connected and say nothing`() async throws {
      let listener = try listener()
      let stranger = try Stranger("idle", 400, at: listener.port)
      for number in 1...5 {
        #expect(
          try await Stranger.get("/\(number)", from: listener.port).contains("path /\(number)<"))
      }
      withExtendedLifetime(stranger) {}
      await listener.close()
    }

    @Test func `answers while others send a byte now and then`() async throws {
      let listener = try listener()
      let stranger = try Stranger("drip", 100, at: listener.port)
      #expect(try await Stranger.get("/x", from: listener.port).contains("path /x<"))
      withExtendedLifetime(stranger) {}
      await listener.close()
    }

    @Test func `closes connections that take too long`() async throws {
      let listener = try listener(patience: .milliseconds(50))
      // The stranger ends only when the listener closes the connection.
      #expect(try await Stranger.send("GET / HTTP/1.1\r\n", to: listener.port).isEmpty)
      await listener.close()
    }

    @Test func `is closed at once with all its connections and releases its port`() async throws {
      let listener = try listener()
      let stranger = try Stranger("idle", 50, at: listener.port)
      _ = try await Stranger.get("/", from: listener.port)
      await listener.close()
      let again = try LoopbackListener(on: .version4, port: listener.port)
      await again.close()
      withExtendedLifetime(stranger) {}
    }

    @Test func `does not share its port`() async throws {
      let listener = try listener()
      #expect(throws: SystemCallError.self) {
        try LoopbackListener(on: .version4, port: listener.port)
      }
      await listener.close()
      await listener.close()
    }

    @Test func `is not inherited by programs that are started`() async throws {
      let listener = try listener()
      let program = try Child(
        "/bin/sleep", ["600"], environment: [:])
      await listener.close()
      let again = try LoopbackListener(on: .version4, port: listener.port)
      await again.close()
      program.kill()
    }

    @Test func `can be reached only from this machine`() async throws {
      let listener = try listener()
      let table = try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8)
      let port = String(listener.port, radix: 16, uppercase: true)
      let padded = String(repeating: "0", count: 4 - port.count) + port
      let rows = table.split(separator: "\n").filter { $0.contains(":\(padded) 00000000:0000 0A") }
      #expect(rows.count == 1 && rows.allSatisfy { $0.contains("0100007F:\(padded)") })
      await listener.close()
    }

    @Test func `also listens on IPv6`() async throws {
      let listener = try listener(.version6)
      let answer = try await Program.run(
        "/usr/bin/python3",
        [
          "-c",
          "import sys, urllib.request as r; print(r.urlopen(f'http://[::1]:{sys.argv[1]}/six').read())",
          "\(listener.port)",
        ], environment: [:])
      #expect(answer.contains("path /six<"))
      await listener.close()
    }

    @Test func `refuses processes of another user on IPv6 too`() async throws {
      guard geteuid() == 0 else { return }
      let listener = try listener(.version6)
      let request = "GET /six HTTP/1.1\r\nHost: [::1]:\(listener.port)\r\n\r\n"
      let theirs = try await Stranger.send(request, to: listener.port, as: 65534, host: "::1")
      #expect(theirs.hasPrefix("HTTP/1.1 403 "))
      let ours = try await Stranger.send(request, to: listener.port, as: 0, host: "::1")
      #expect(ours.contains("path /six<"))
      await listener.close()
    }

    @Test func `answers with a page that loads nothing and reveals nothing`() async throws {
      let listener = try listener()
      let answer = try await Stranger.get("/secret?code=4711", from: listener.port)
      let head = try #require(answer.components(separatedBy: "\r\n\r\n").first)
      for line in [
        "Cache-Control: no-store", "Referrer-Policy: no-referrer", "Connection: close",
        "Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; "
          + "frame-ancestors 'none'", "X-Content-Type-Options: nosniff",
      ] {
        #expect(head.contains("\r\n\(line)"))
      }
      #expect(!answer.contains("4711"))
      await listener.close()
    }

    @Test(arguments: [
      ("GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a b=c h"),
      ("GET / HTTP/1.0\r\nHOST:\th \r\nCookie: x=y\r\n\r\n", "GET /  h"),
      ("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "POST /a  h"),
    ])
    func `reads a request`(_ text: String, _ parts: String) throws {
      let request = try LoopbackRequest(Array(text.utf8))
      #expect("\(request.method) \(request.path) \(request.query) \(request.host)" == parts)
    }

    @Test(arguments: [
      "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
      "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "get / HTTP/1.1\r\nHost: a\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\nHost: a\n\n\r\n\r\n", "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
      "GET / HTTP/1.1\r\n Host: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nx\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\u{0}\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\n", "",
      "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func `refuses requests that no browser sends`(_ text: String) {
      #expect(throws: LoopbackRequest.Fault.isMalformed) { try LoopbackRequest(Array(text.utf8)) }
    }

    @Test func `refuses a head that is too long`() async throws {
      let long = "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 40_000))"
      #expect(throws: LoopbackRequest.Fault.isTooLong) { try LoopbackRequest(Array(long.utf8)) }
      let listener = try listener()
      // The connection is closed in the middle of the head, or after an answer.
      let answer = try await Stranger.send(long, to: listener.port)
      #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400"))
      await listener.close()
    }

    @Test(
      arguments: [
        ("a=1&b=%C3%A4+x&c", ["a": "1", "b": "ä x", "c": ""]), ("", [:]),
        ("a=1=2", ["a": "1=2"]), ("a=1&a=1", ["a": "1"]), ("a=1&b&a=2", ["b": ""]),
        ("a=%", ["a": "%"]), ("&&", [:]),
        ("a=%4", ["a": "%4"]), ("a=%FF&b", ["a": "\u{FFFD}", "b": ""]), ("a=%g0", ["a": "%g0"]),
        ("%=%%41", ["%": "%A"]), ("a=%2", ["a": "%2"]), ("a=%4%31", ["a": "%41"]),
      ] as [(String, [String: String])])
    func `reads a query as browsers do`(_ query: String, _ fields: [String: String]) {
      #expect(Form.decode(query) == fields)
    }
  }
}
