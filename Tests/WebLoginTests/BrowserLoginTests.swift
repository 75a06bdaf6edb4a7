import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

/// Because there is only one browser, and open ports are counted.
@Suite(.serialized, .onOwnThread) struct `one at a time` {}

extension `one at a time` {
  /// With a real server and a real browser.
  @Suite struct `a login in the browser` {
    @Test func `gives a credential that the server accepts`() async throws {
      let stage = try LoginStage()
      var login = stage.login(.allow)
      login.scopes = ["openid", "mail"]
      let credential = try await login.start()
      #expect(try await stage.server.status(with: credential.accessToken) == 200)
      #expect(credential.refreshToken != nil && credential.tokenType == "Bearer")
      #expect(credential.scopes == ["openid", "mail"])
      #expect(credential.nonce?.utf8.count == 43)
      let identity = try #require(credential.identity)
      #expect(identity.issuer == stage.server.address)
      #expect(identity.email == "\(identity.subject)@mail.example")
      let left = try #require(credential.expirationDate).timeIntervalSinceNow
      #expect((3500...3600).contains(left))
      #expect(try !stage.hasPending())
      #expect(try await stage.chromium.perform(.page).hasPrefix("/callback The browser's part"))
    }

    @Test func `is denied with the server's error and text`() async throws {
      let stage = try LoginStage()
      let error = await #expect(throws: WebLoginError.self) { try await stage.login(.deny).start() }
      #expect(error?.code == .denied && error?.isTransient == false)
      #expect(error?.refusal?.error == "access_denied")
      #expect(error?.refusal?.text?.contains("denied") == true)
      #expect("\(try #require(error))" == "the login was not allowed (access_denied).")
      #expect(try !stage.hasPending())
      #expect(try await stage.chromium.perform(.page).contains("The login was not allowed."))
    }

    @Test func `ends at its deadline when the browser is closed`() async throws {
      let clock = ManualClock()
      let stage = try LoginStage(clock: clock)
      let browser = WatchedBrowser(DesktopOpener(environment: stage.chromium.environment(.close)))
      var login = stage.login(.close)
      login.browser = browser
      let ending = Task { [login] in try await login.start() }
      _ = try await browser.address()
      await clock.waitForSleeper(within: .seconds(300))
      clock.advance(by: .seconds(299))
      #expect(try stage.hasPending() && listeningPortCount() == 1)
      clock.advance(by: .seconds(1))
      let error = await #expect(throws: WebLoginError.self) { try await ending.value }
      #expect(error?.code == .timedOut)
      #expect(try !stage.hasPending())
      #expect(try listeningPortCount() == 0)
    }

    @Test func `ends at once when its task is cancelled and leaves no port open`() async throws {
      let stage = try LoginStage()
      let browser = WatchedBrowser()
      var login = stage.login(.open)
      login.browser = browser
      let ending = Task { [login] in try await login.start() }
      let port = try await browser.address().port
      // Chromium also keeps connections open that it does not use.
      let stranger = try Stranger("idle", 20, at: port)
      ending.cancel()
      let error = await #expect(throws: WebLoginError.self) { try await ending.value }
      #expect(error?.code == .cancelled)
      #expect(try !stage.hasPending() && listeningPortCount() == 0)
      withExtendedLifetime(stranger) {}
    }

    @Test(arguments: ["xdg-open", "no-such-program"])
    func `reports that there is no browser`(_ program: String) async throws {
      let stage = try LoginStage()
      var login = stage.login(.open)
      login.browser = DesktopOpener(program, environment: ["BROWSER": "/bin/false", "DISPLAY": ""])
      let error = await #expect(throws: WebLoginError.self) { try await login.start() }
      #expect(error?.code == .noBrowser)
      #expect(try !stage.hasPending() && listeningPortCount() == 0)
    }

    @Test func `is not disturbed by a second callback while its code is exchanged`() async throws {
      let stage = try LoginStage()
      try await stage.server.set("hold=1")
      let ending = Task { try await stage.login(.allow).start() }
      try await wait(until: "the browser is back") {
        // There is no page before that.
        (try? await stage.chromium.perform(.page))?.hasPrefix("/callback The browser") ?? false
      }
      let page = try await stage.chromium.perform(.again)
      #expect(page == "/callback The login has already received its answer.")
      // The page is shown a moment before the login continues.
      try await wait(until: "the verifier, which is used once, is gone") { try !stage.hasPending() }
      try await stage.server.set("hold=0")
      #expect(try await stage.server.status(with: ending.value.accessToken) == 200)
    }

    @Test func `continues after wrong callbacks by another process`() async throws {
      let stage = try LoginStage()
      let browser = WatchedBrowser(DesktopOpener(environment: stage.chromium.environment(.open)))
      var login = stage.login(.open)
      login.browser = browser
      let ending = Task { [login] in try await login.start() }
      let address = try await browser.address()
      let state = address.state
      for query in [
        "code=1", "code=1&state=", "code=1&state=\(state)x", "code=1&state=\(state.dropLast())",
        "error=access_denied&state=wrong", "code=1&state=\(state)&state=x", "error=access_denied",
      ] {
        let answer = try await Stranger.get("/callback?\(query)", from: address.port)
        #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(query)")
        #expect(!answer.contains(state), "nothing of the request is in the answer")
      }
      try await waitForPage(of: stage)
      _ = try await stage.chromium.perform(.allow)
      #expect(try await stage.server.status(with: ending.value.accessToken) == 200)
    }

    @Test func `does not accept the answer of a server that names another issuer`() async throws {
      let stage = try LoginStage()
      let browser = WatchedBrowser(DesktopOpener(environment: stage.chromium.environment(.open)))
      var login = stage.login(.open)
      login.browser = browser
      let ending = Task { [login] in try await login.start() }
      _ = try await browser.address()
      try await stage.server.set("named=2")
      try await waitForPage(of: stage)
      #expect(try await stage.chromium.perform(.allow).contains("The login has failed."))
      let error = await #expect(throws: WebLoginError.self) { try await ending.value }
      #expect(error?.code == .wrongIssuer)
      #expect(try await stage.server.counts().signIns == 0, "no code was exchanged")
    }

    @Test func `fails permanently with a wrong verifier`() async throws {
      let stage = try LoginStage(
        http: ScriptedHTTP { request in
          guard let body = request.body, request.fields["code_verifier"] != nil else {
            return try await CurlHTTPClient().send(request)
          }
          let wrong = String(decoding: body, as: UTF8.self)
            .replacingOccurrences(of: "code_verifier=", with: "code_verifier=x")
          return try await Self.post(wrong, to: request.url)
        })
      let error = await #expect(throws: WebLoginError.self) {
        try await stage.login(.allow).start()
      }
      #expect(error?.code == .refused && error?.refusal?.error == "invalid_grant")
      #expect(error?.isTransient == false)
      #expect(try !stage.hasPending(), "a verifier is used once")
      #expect(try await stage.server.counts().codesRefused == 1)
    }

    @Test func `has a code that cannot be used a second time`() async throws {
      let sent = Shared<OAuthHTTPRequest?>(nil)
      let stage = try LoginStage(
        http: WatchedHTTP { request in
          if request.fields["code"] != nil { sent.update { $0 = request } }
          return nil
        })
      _ = try await stage.login(.allow).start()
      let request = try #require(sent.now)
      let again = try await CurlHTTPClient().send(request)
      #expect(again.status == 400)
      #expect(String(decoding: again.body, as: UTF8.self).contains("invalid_grant"))
      #expect(try await stage.server.counts().signIns == 1)
    }

    @Test func `keeps nothing any more when its code is sent`() async throws {
      let kept = Shared<[Bool]>([])
      let place = Shared<LoginStage?>(nil)
      let stage = try LoginStage(
        http: WatchedHTTP { request in
          let isKept = try place.now?.hasPending() ?? false
          if request.fields["code"] != nil { kept.update { $0.append(isKept) } }
          return nil
        })
      place.update { $0 = stage }
      _ = try await stage.login(.allow).start()
      #expect(kept.now == [false])
      place.update { $0 = nil }
    }

    @Test func `does not open the browser if the server is down`() async throws {
      let stage = try LoginStage()
      stage.server.kill()
      let browser = WatchedBrowser()
      var login = stage.login(.open)
      login.browser = browser
      let error = await #expect(throws: WebLoginError.self) { try await login.start() }
      #expect(error?.code == .unreachable && error?.isTransient == true)
      #expect(try !stage.hasPending() && listeningPortCount() == 0)
    }

    @Test func `reports an unreachable server if it dies before the code is exchanged`()
      async throws
    {
      let stage = try LoginStage(
        http: WatchedHTTP { request in
          if request.fields["code"] != nil {
            throw OAuthHTTPError(.noResponse, reason: "it broke")
          }
          return nil
        })
      let error = await #expect(throws: WebLoginError.self) {
        try await stage.login(.allow).start()
      }
      #expect(error?.code == .unreachable)
      #expect(try listeningPortCount() == 0)
    }

    @Test func `waits for a slow server as long as its client does`() async throws {
      let stage = try LoginStage(http: CurlHTTPClient(timeout: .seconds(10)))
      _ = try await stage.client.server()
      try await stage.server.set("hold=1")
      let error = await #expect(throws: WebLoginError.self) {
        try await stage.login(.allow).start()
      }
      #expect(error?.code == .answerTimedOut)
      #expect("\(try #require(error))".contains("in time"))
      try await stage.server.set("hold=0")
    }

    @Test func `works 20 times in a row and leaves nothing open`() async throws {
      let stage = try LoginStage()
      _ = try await stage.login(.allow).start()
      let before = try openDescriptorCount()
      for _ in 1...20 {
        let credential = try await stage.login(.allow).start()
        #expect(try await stage.server.status(with: credential.accessToken) == 200)
      }
      #expect(try listeningPortCount() == 0)
      // Foundation closes its connections a little later.
      try await wait(until: "as many descriptors are open as before") {
        try openDescriptorCount() <= before
      }
      let counts = try await stage.server.counts()
      #expect(counts.logins == 21 && counts.signIns == 21 && counts.codesRefused == 0)
    }

    /// Waits until the browser shows the page at which a person logs in.
    private func waitForPage(of stage: LoginStage) async throws {
      try await wait(until: "the page is there") {
        (try? await stage.chromium.perform(.page))?.hasPrefix("/authorize") ?? false
      }
    }

    private func openDescriptorCount() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    private static func post(_ body: String, to url: URL) async throws -> OAuthHTTPResponse {
      let answer = try await Program.run(
        "/usr/bin/python3",
        [
          "-c",
          """
          import sys, urllib.request, urllib.error
          try:
            print(urllib.request.urlopen(sys.argv[1], sys.stdin.buffer.read()).read().decode())
          except urllib.error.HTTPError as error:
            print(error.read().decode())
          """, url.absoluteString,
        ], input: body, environment: [:])
      return OAuthHTTPResponse(answer.contains("error") ? 400 : 200, answer)
    }
  }
}
