import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

extension `one at a time` {
  /// The answers of a login to processes that connect to its port, without a browser.
  @Suite struct `the port of a login` {
    private let browser = WatchedBrowser()
    private let login: WebAuthenticationSession

    init() throws {
      let server = try AuthorizationServer(
        issuer: "https://a.example", authorizationEndpoint: "https://a.example/authorize?tenant=1",
        tokenEndpoint: "https://a.example/token")
      let client = OAuthClient(
        server: server, clientID: "app",
        http: ScriptedHTTP { request in
          OAuthHTTPResponse(
            200, #"{"access_token": "\#(request.fields["code"] ?? "")", "token_type": "Bearer"}"#)
        })
      var login = WebAuthenticationSession(client: client)
      login.browser = browser
      login.parameters = [
        "prompt": "login", "state": "mine", "redirect_uri": "https://evil.example",
      ]
      self.login = login
    }

    @Test func `accepts one callback, which must be complete`() async throws {
      let ending = Task { try await login.start() }
      let address = try await browser.address()
      #expect(address.fields["prompt"] == "login" && address.fields["tenant"] == "1")
      #expect(address.state.utf8.count == 43 && address.redirect.host() == "127.0.0.1")
      #expect(address.fields["code_challenge_method"] == "S256")
      #expect(address.fields["code_challenge"]?.utf8.count == 43)
      let port = address.port
      let target = "/callback?state=\(address.state)&code=4%2B7+1"
      for (request, status) in [
        ("GET \(target) HTTP/1.1\r\nHost: evil.example\r\n\r\n", 400),
        ("GET \(target) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n", 400),
        ("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
        ("POST \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", 405),
        ("HEAD \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", 405),
        ("GET /other HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", 404),
        ("GET /favicon.ico HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", 404),
        ("GET /callback/ HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", 404),
        ("rubbish\r\n\r\n", 400),
        ("GET /callback?state=mine&code=1 HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", 400),
        ("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", 200),
      ] {
        #expect(
          try await Stranger.send(request, to: port).hasPrefix("HTTP/1.1 \(status) "), "\(request)")
      }
      #expect(try await ending.value.accessToken == "4+7 1")
    }

    /// A field that is not needed must not leave the login waiting.
    @Test(arguments: [
      "code=7&error=", "code=7&error=&error_description=", "code=7&code=7",
      "code=7&iss=https://a.example",
      "scope=a&scope=b&code=7", "note=100%&code=7", "%zz&code=7", "city=K%F6ln&code=7",
      "&&code=7&",
    ])
    func `accepts a callback whatever else it has`(_ query: String) async throws {
      let ending = Task { try await login.start() }
      let address = try await browser.address()
      let target = "/callback?\(query)&state=\(address.state)"
      #expect(try await Stranger.get(target, from: address.port).hasPrefix("HTTP/1.1 200 "))
      #expect(try await ending.value.accessToken == "7")
    }

    @Test(
      arguments: [
        ("error=access_denied&error_description=refus%E9", .denied, "access_denied"),
        ("error=access_denied&code=", .denied, "access_denied"),
        ("error=access_denied&code=7", .denied, "access_denied"),
        ("error=invalid_scope", .denied, "Ask for scopes"),
        ("error=temporarily_unavailable", .unavailable, "a.example cannot answer now"),
        ("error=server_error", .unavailable, "a.example cannot answer now"),
        ("session_state=1", .incompleteResponse, "neither one code nor one error"),
        ("code=7&code=8", .incompleteResponse, "neither one code nor one error"),
        ("code=&error=", .incompleteResponse, "neither one code nor one error"),
      ] as [(String, WebLoginError.Code, String)])
    func `ends the login at once for any answer with the state`(
      _ query: String, _ code: WebLoginError.Code, _ text: String
    ) async throws {
      let ending = Task { try await login.start() }
      let address = try await browser.address()
      _ = try await Stranger.get("/callback?\(query)&state=\(address.state)", from: address.port)
      let error = await #expect(throws: WebLoginError.self) { try await ending.value }
      #expect(error?.code == code)
      #expect("\(try #require(error))".contains(text), "\(String(describing: error))")
    }

    /// Browsers leave out the port of plain http.
    @Test func `may be 80`() async throws {
      guard geteuid() == 0 else { return }
      var login = login
      login.redirectPort = 80
      let ending = Task { [login] in try await login.start() }
      let address = try await browser.address()
      let target = "/callback?state=\(address.state)&code=1"
      for (host, status) in [("localhost", 400), ("127.0.0.1:8", 400), ("127.0.0.1", 200)] {
        let request = "GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n"
        #expect(try await Stranger.send(request, to: 80).hasPrefix("HTTP/1.1 \(status) "))
      }
      #expect(try await ending.value.accessToken == "1")
    }

    /// With the state, so that no one but the person's browser can end a login.
    @Test(arguments: [
      "&iss=https://a.example/", "&iss=https://b.example", "&iss=", "&iss=%1b[2J",
      "&iss=https://a.example&iss=https://b.example",
    ])
    func `ends the login for the answer of another issuer, and shows both`(
      _ issuer: String
    ) async throws {
      let ending = Task { try await login.start() }
      let address = try await browser.address()
      let target = "/callback?code=1&state=\(address.state)\(issuer)"
      let page = try await Stranger.get(target, from: address.port)
      #expect(page.contains("The login has failed."))
      let error = await #expect(throws: WebLoginError.self) { try await ending.value }
      #expect(error?.code == .wrongIssuer)
      #expect(error?.reason.contains("began at https://a.example") ?? false)
      #expect(error?.reason.contains("\u{1b}") == false)
    }

    @Test func `has the name localhost where a server allows only that`() async throws {
      var login = login
      login.redirectsToLocalhost = true
      let ending = Task { [login] in try await login.start() }
      let address = try await browser.address()
      #expect(address.redirect.host() == "localhost")
      let target = "/callback?state=\(address.state)&code=1"
      for (host, status) in [("127.0.0.1", 400), ("localhost", 200)] {
        let request = "GET \(target) HTTP/1.1\r\nHost: \(host):\(address.port)\r\n\r\n"
        #expect(
          try await Stranger.send(request, to: address.port).hasPrefix("HTTP/1.1 \(status) "))
      }
      #expect(try await ending.value.accessToken == "1")
    }

    @Test func `refuses processes of another user, and continues to wait`() async throws {
      guard geteuid() == 0 else { return }
      let ending = Task { try await login.start() }
      let address = try await browser.address()
      let port = address.port
      let request = { (code: String) in
        "GET /callback?state=\(address.state)&code=\(code) HTTP/1.1\r\n"
          + "Host: 127.0.0.1:\(port)\r\n\r\n"
      }
      let answer = try await Stranger.send(request("theirs"), to: port, as: 65534)
      #expect(answer.hasPrefix("HTTP/1.1 403 "))
      #expect(
        try await Stranger.send("rubbish\r\n\r\n", to: port, as: 65534).hasPrefix("HTTP/1.1 403 "))
      // The kernel shows the connection of a process that has exited as root's.
      for _ in 0..<20 {
        _ = try await Stranger.send(request("theirs"), to: port, as: 65534, manner: "rush")
      }
      #expect(try await Stranger.sendAll(request("mine"), to: port).hasPrefix("HTTP/1.1 200 "))
      #expect(try await ending.value.accessToken == "mine")
    }

    @Test func `cannot be delayed by hundreds of idle connections`() async throws {
      let ending = Task { try await login.start() }
      let address = try await browser.address()
      let stranger = try Stranger("idle", 400, at: address.port)
      let dripping = try Stranger("drip", 50, at: address.port)
      let target = "/callback?state=\(address.state)&code=1"
      #expect(try await Stranger.get(target, from: address.port).hasPrefix("HTTP/1.1 200 "))
      #expect(try await ending.value.accessToken == "1")
      withExtendedLifetime((stranger, dripping)) {}
    }

    @Test func `is not opened for an invalid path`() async throws {
      for path in ["callback", "/a?b", "/ä", "/a b", ""] {
        var login = login
        login.redirectPath = path
        let session = login
        let error = await #expect(throws: WebLoginError.self) { try await session.start() }
        #expect(error?.code == .invalidConfiguration)
      }
    }

    @Test func `has another state, verifier and port each time`() async throws {
      var seen: Set<String> = []
      for _ in 1...20 {
        let ending = Task { try await login.start() }
        let address = try await browser.address()
        seen.formUnion([address.state, address.fields["code_challenge"] ?? ""])
        ending.cancel()
        _ = await ending.result
      }
      #expect(seen.count == 40)
    }
  }
}
