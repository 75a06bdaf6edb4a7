import Foundation
import SessionToolsBase
import SessionToolsOAuthTestSupport
import SessionToolsTesting
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

/// With a real login server, at which a person allows the login.
@Suite(.onOwnThread) struct `a login of a web service` {
  private let stage: WebServiceStage

  init() throws {
    stage = try WebServiceStage()
  }

  /// Expects a refusal before the code is sent.
  private func expect(
    _ code: WebLoginError.Code, _ login: WebServiceLogin, _ query: String, _ cookies: [String],
    user: String? = nil, _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let before = stage.sent.now.count
    let error = await #expect(throws: WebLoginError.self, comment, sourceLocation: sourceLocation) {
      try await login.finish(query: query, cookies: cookies, user: user)
    }
    #expect(error?.code == code, comment, sourceLocation: sourceLocation)
    #expect(
      stage.sent.now.count == before, "nothing is sent to the server",
      sourceLocation: sourceLocation)
  }

  // MARK: - As it should be

  @Test func `gives tokens and an identity, and sends the person back`() async throws {
    let login = try stage.login()
    var jar = CookieJar()
    let redirect = try await login.begin(returnTo: "/inbox?folder=1")
    let fields = try LoginAddress(redirect.address).fields
    #expect(fields["code_challenge_method"] == "S256" && fields["code_challenge"]?.count == 43)
    #expect(fields["state"]?.count == 43 && fields["nonce"]?.count == 43)
    #expect(fields["redirect_uri"] == WebServiceStage.redirectAddress)
    jar.set(redirect.cookie)
    #expect(redirect.cookie.setCookie.utf8.count < 1000)
    let query = try await stage.answer(redirect.address)
    let outcome = try await login.finish(query: query, cookies: jar.fields)
    #expect(outcome.returnTo == "/inbox?folder=1")
    #expect(try await stage.server.status(with: outcome.credential.accessToken) == 200)
    let identity = try #require(outcome.identity)
    #expect(identity.issuer == stage.server.address && identity.subject == "ada")
    #expect(identity.accountName == "\(stage.server.address) ada")
    #expect(identity.email == "ada@mail.example" && identity.isEmailVerified)
    #expect(identity.authenticationDate != nil)
    jar.set(outcome.expiredCookie)
    #expect(jar.count == 0)
  }

  @Test func `has a cookie that only the browser sends back, and only here`() async throws {
    let cookie = try await stage.login().begin().cookie.setCookie
    let pattern = try Regex(
      "__Host-login-[A-Za-z0-9_-]{16}=[A-Za-z0-9_-]+; Path=/; Secure; HttpOnly; SameSite=Lax; "
        + "Max-Age=600")
    #expect(cookie.wholeMatch(of: pattern) != nil, "\(cookie)")
  }

  @Test func `works over plain http on the machine itself`() async throws {
    let login = try stage.login(redirectAddress: "http://127.0.0.1:8080/callback")
    var jar = CookieJar()
    let redirect = try await login.begin()
    jar.set(redirect.cookie, over: "http")
    let query = try await stage.answer(redirect.address)
    let outcome = try await login.finish(query: query, cookies: jar.fields)
    jar.set(outcome.expiredCookie, over: "http")
    #expect(outcome.returnTo == "/" && jar.count == 0)
  }

  @Test func `without the scope openid has no identity`() async throws {
    let login = try stage.login(scopes: ["mail"])
    var jar = CookieJar()
    let redirect = try await login.begin()
    #expect(try LoginAddress(redirect.address).fields["nonce"] == nil)
    jar.set(redirect.cookie)
    let query = try await stage.answer(redirect.address)
    let outcome = try await login.finish(query: query, cookies: jar.fields)
    #expect(outcome.identity == nil && outcome.credential.scopes == ["mail"])
  }

  @Test func `of ten tabs ends in any order`() async throws {
    let login = try stage.login()
    var jar = CookieJar()
    var redirects: [WebServiceLogin.Redirect] = []
    for tab in 0..<10 {
      redirects.append(try await login.begin(returnTo: "/tab/\(tab)"))
      jar.set(redirects[tab].cookie)
    }
    #expect(jar.count == 10)
    for tab in (0..<10).reversed() {
      let query = try await stage.answer(redirects[tab].address)
      let outcome = try await login.finish(query: query, cookies: jar.fields)
      #expect(outcome.returnTo == "/tab/\(tab)")
      jar.set(outcome.expiredCookie)
    }
    #expect(jar.count == 0)
  }

  /// HTTP/2 may split the field (RFC 9113, section 8.2.3).
  @Test func `finds its cookie among those of others`() async throws {
    let login = try stage.login()
    var jar = CookieJar()
    for _ in 0..<24 { jar.set(try await login.begin().cookie) }
    let redirect = try await login.begin()
    jar.set(redirect.cookie)
    for _ in 0..<25 { jar.set(try await login.begin().cookie) }
    #expect(jar.count == 50)
    let query = try await stage.answer(redirect.address)
    let fields = ["a=b; c", "; ;=;=x", ""] + jar.fields[0].components(separatedBy: "; ")
    _ = try await login.finish(query: query, cookies: fields)
  }

  @Test func `is finished by a machine whose clock differs by half a minute`() async throws {
    for seconds in [-30.0, 30, -59, 659] {
      let other = ManualClock(now: stage.clock.now + seconds)
      var jar = CookieJar()
      let redirect = try await stage.login().begin()
      jar.set(redirect.cookie)
      let query = try await stage.answer(redirect.address)
      _ = try await stage.login(clock: other).finish(query: query, cookies: jar.fields)
    }
  }

  @Test func `is finished after the key was rotated`() async throws {
    let next = SecretBytes([UInt8](repeating: 9, count: 32))
    var jar = CookieJar()
    let redirect = try await stage.login().begin()
    jar.set(redirect.cookie)
    let query = try await stage.answer(redirect.address)
    await expect(.otherLogin, try stage.login(key: next), query, jar.fields)
    let rotated = try stage.login(key: next, former: [stage.key])
    let outcome = try await rotated.finish(query: query, cookies: jar.fields)
    #expect(outcome.identity?.subject == "ada")
    // A machine that does not seal with the new key yet.
    jar = CookieJar()
    let other = try await rotated.begin()
    jar.set(other.cookie)
    let behind = try stage.login(former: [next])
    _ = try await behind.finish(
      query: try await stage.answer(other.address), cookies: jar.fields)
  }

  // MARK: - Attacks

  @Test func `is not finished in a browser in which it did not begin`() async throws {
    let login = try stage.login()
    let attackers = try await login.begin()
    let query = try await stage.answer(attackers.address, as: "mallory")
    await expect(.nothingPending, login, query, [])
    var victim = CookieJar()
    victim.set(try await login.begin().cookie)
    await expect(.nothingPending, login, query, victim.fields)
    // Under the name of the attacker's cookie, which a browser does not let another host set.
    var theirs = CookieJar()
    theirs.set(attackers.cookie)
    let value = try #require(victim.changed { $0 }[0].split(separator: "=").last)
    await expect(.nothingPending, login, query, theirs.changed { _ in String(value) })
    #expect(try await stage.server.counts().codesRefused == 0)
  }

  /// Code injection: PKCE ties the code to the login.
  @Test func `is not finished with the code of another login`() async throws {
    let login = try stage.login()
    var victim = CookieJar()
    let redirect = try await login.begin()
    victim.set(redirect.cookie)
    let theirs = try await stage.answer(try await login.begin().address, as: "mallory")
    let code = try #require(Form.decode(theirs)["code"])
    let state = try LoginAddress(redirect.address).state
    let error = await #expect(throws: WebLoginError.self) {
      try await login.finish(
        query: "code=\(code)&state=\(state)&iss=\(stage.server.address)", cookies: victim.fields)
    }
    #expect(error?.code == .refused && error?.refusal?.error == "invalid_grant")
  }

  @Test func `is finished once`() async throws {
    let login = try stage.login()
    var jar = CookieJar()
    let redirect = try await login.begin()
    jar.set(redirect.cookie)
    let kept = jar.fields
    let query = try await stage.answer(redirect.address)
    let outcome = try await login.finish(query: query, cookies: jar.fields)
    jar.set(outcome.expiredCookie)
    await expect(.nothingPending, login, query, jar.fields)
    // Two requests at the same time, both with the cookie: the server refuses a used code.
    let error = await #expect(throws: WebLoginError.self) {
      try await login.finish(query: query, cookies: kept)
    }
    #expect(error?.code == .refused)
    #expect(try await stage.server.counts().codesRefused == 1)
    #expect(try await stage.server.status(with: outcome.credential.accessToken) == 200)
  }

  @Test func `is not finished by a callback that names another issuer or none`() async throws {
    let login = try stage.login()
    var jar = CookieJar()
    let redirect = try await login.begin()
    jar.set(redirect.cookie)
    let query = try await stage.answer(redirect.address)
    let parts = query.split(separator: "&").map(String.init)
    let issuer = try #require(parts.first { $0.hasPrefix("iss=") })
    let rest = parts.filter { !$0.hasPrefix("iss=") }
    for other in [
      [], ["iss=https://other.example"], ["iss="], [issuer + "/"], [issuer, "iss=x"],
      ["iss=x", issuer],
    ] {
      await expect(.wrongIssuer, login, (rest + other).joined(separator: "&"), jar.fields)
    }
  }

  /// Mix-up (RFC 9700, section 4.4): two servers at one service, one of them an attacker's.
  @Test func `is not finished at another server than the one at which it began`() async throws {
    let other = try WebServiceStage()
    let (here, there) = (try stage.login(), try other.login())
    var jar = CookieJar()
    let redirect = try await here.begin()
    jar.set(redirect.cookie)
    let query = try await stage.answer(redirect.address)
    await expect(.otherLogin, there, query, jar.fields)
    #expect(other.sent.now.isEmpty)
    // Nor for another redirect address or client of the same server.
    let elsewhere = try stage.login(redirectAddress: "http://127.0.0.1/callback")
    await expect(.nothingPending, elsewhere, query, jar.fields)
    let second = try WebServiceLogin(
      client: stage.client(), redirectAddress: "https://app.example/callback2",
      scopes: ["openid"], key: stage.key)
    await expect(.otherLogin, second, query, jar.fields)
    let client = OAuthClient(issuer: stage.server.address, clientID: "other")
    let third = try WebServiceLogin(
      client: client, redirectAddress: WebServiceStage.redirectAddress, scopes: ["openid"],
      key: stage.key)
    await expect(.otherLogin, third, query, jar.fields)
    let resource = OAuthClient(
      issuer: stage.server.address, clientID: "app", resources: ["https://api.example"])
    let fourth = try WebServiceLogin(
      client: resource, redirectAddress: WebServiceStage.redirectAddress, scopes: ["openid"],
      key: stage.key)
    await expect(.otherLogin, fourth, query, jar.fields)
  }

  @Test func `sends the code to the endpoint of its start`() async throws {
    let places = Shared<[String]>([])
    let asked = Shared(0)
    let http = ScriptedHTTP { request in
      places.update { $0.append(request.url.absoluteString) }
      guard request.method == "GET" else { return OAuthHTTPResponse(200, "{}") }
      let count = asked.update { asked in
        asked += 1
        return asked
      }
      return OAuthHTTPResponse(
        200,
        """
        {"issuer": "https://a.example", "token_endpoint": "https://a.example/token\(count)",
         "authorization_endpoint": "https://a.example/authorize"}
        """)
    }
    func machine() throws -> WebServiceLogin {
      try WebServiceLogin(
        client: OAuthClient(issuer: "https://a.example", clientID: "app", http: http),
        redirectAddress: "https://app.example/", scopes: [], key: stage.key)
    }
    var jar = CookieJar()
    let redirect = try await machine().begin()
    jar.set(redirect.cookie)
    let state = try LoginAddress(redirect.address).state
    let other = try machine()
    _ = try await other.begin()
    _ = await #expect(throws: WebLoginError.self) {
      try await other.finish(query: "state=\(state)&code=1", cookies: jar.fields)
    }
    #expect(places.now.last == "https://a.example/token1")
  }

  @Test func `is not finished by another user than the one who began it`() async throws {
    let login = try stage.login()
    let users: [(began: String?, ended: String?)] = [
      ("ada", "mallory"), (nil, "mallory"), ("ada", nil),
    ]
    for (began, ended) in users {
      var jar = CookieJar()
      let redirect = try await login.begin(user: began)
      jar.set(redirect.cookie)
      let query = try await stage.answer(redirect.address)
      await expect(.otherLogin, login, query, jar.fields, user: ended)
      _ = try await login.finish(query: query, cookies: jar.fields, user: began)
    }
  }

  @Test func `is good for ten minutes, and not before it began`() async throws {
    for seconds in [660, 661, 100_000, -62, -10_000.0] {
      let other = ManualClock(now: stage.clock.now + seconds)
      var jar = CookieJar()
      let redirect = try await stage.login().begin()
      jar.set(redirect.cookie)
      let query = try await stage.answer(redirect.address)
      await expect(.timedOut, try stage.login(clock: other), query, jar.fields, "\(seconds)")
    }
  }

  @Test func `is not finished with a cookie that was forged or cut`() async throws {
    let login = try stage.login()
    var jar = CookieJar()
    let redirect = try await login.begin()
    jar.set(redirect.cookie)
    let query = try await stage.answer(redirect.address)
    let value = try #require(jar.changed { $0 }[0].split(separator: "=").last)
    for offset in 0..<value.count {
      let changed = jar.changed { value in
        var bytes = Array(value.utf8)
        bytes[offset] = bytes[offset] == UInt8(ascii: "A") ? UInt8(ascii: "Q") : UInt8(ascii: "A")
        return String(decoding: bytes, as: UTF8.self)
      }
      await expect(.otherLogin, login, query, changed)
      await expect(.otherLogin, login, query, jar.changed { String($0.prefix(offset)) })
    }
    for other in [
      "", "%", "A", "=", String(repeating: "A", count: 54), String(repeating: "A", count: 5120),
      value + "A", value + "=", "\"\(value)\"", "é",
    ] {
      await expect(.otherLogin, login, query, jar.changed { _ in other })
    }
    // The one that opens counts, wherever it stands.
    _ = try await login.finish(
      query: query, cookies: jar.changed { _ in "A" } + jar.fields + jar.changed { _ in "" })
  }

  @Test func `is not finished by a callback with two values of a field`() async throws {
    let login = try stage.login()
    var jar = CookieJar()
    let redirect = try await login.begin()
    jar.set(redirect.cookie)
    let query = try await stage.answer(redirect.address)
    for (more, code) in [
      ("&state=x", .nothingPending), ("&code=x", .incompleteResponse), ("&iss=x", .wrongIssuer),
      ("&error=a&error=b", .incompleteResponse), ("&code=", .incompleteResponse),
    ] as [(String, WebLoginError.Code)] {
      await expect(code, login, query + more, jar.fields)
      await expect(code, login, more.dropFirst() + "&" + query, jar.fields)
    }
    // What a form would have posted.
    await expect(.nothingPending, login, "", jar.fields)
    let state = try LoginAddress(redirect.address).state
    await expect(
      .incompleteResponse, login, "state=\(state)&iss=\(stage.server.address)", jar.fields)
  }

  @Test func `is denied with the server's error, and only with the state`() async throws {
    let login = try stage.login()
    var jar = CookieJar()
    let redirect = try await login.begin()
    jar.set(redirect.cookie)
    let query = try await stage.answer(redirect.address, "deny")
    let error = await #expect(throws: WebLoginError.self) {
      try await login.finish(query: query, cookies: jar.fields)
    }
    #expect(error?.code == .denied && error?.refusal?.error == "access_denied")
    let state = try LoginAddress(redirect.address).state
    for (error, code) in [
      ("access_denied", .denied), ("temporarily_unavailable", .unavailable),
      ("server_error", .unavailable),
    ] as [(String, WebLoginError.Code)] {
      let query = "error=\(error)&iss=\(stage.server.address)&state="
      await expect(code, login, query + state, jar.fields)
      await expect(.nothingPending, login, query + "x", jar.fields)
      await expect(.nothingPending, login, query, jar.fields)
    }
  }

  // MARK: - Configuration

  @Test(arguments: [
    "", "inbox", "//evil.example", "/\\evil.example", "\\/evil.example", "/\t/evil.example",
    "/\n/evil.example", "https://evil.example", "javascript:alert(1)", " /inbox", "/in box",
    "/a//b", "/.//evil.example", "/..//evil.example", "/a\\b", "/a\u{0}", "/a\r\nSet-Cookie: b=c",
    "/ä", "/\u{2028}/evil.example", "?a", "#a", "/\u{7F}", "///evil.example", "/a?b\\c",
  ])
  func `returns to no other host`(_ address: String) async throws {
    let error = await #expect(throws: WebLoginError.self) {
      try await stage.login().begin(returnTo: address)
    }
    #expect(error?.code == .invalidConfiguration && stage.sent.now.isEmpty)
    #expect(error?.description.contains("evil") == false)
  }

  @Test(arguments: [
    "/", "/inbox", "/a/b/?c=https://other.example//&d=%2F%2F", "/a#b//c", "/@host", "/:80",
    "/%09/evil.example",
  ])
  func `returns to any path of the service`(_ address: String) async throws {
    var jar = CookieJar()
    let login = try stage.login()
    let redirect = try await login.begin(returnTo: address)
    jar.set(redirect.cookie)
    let query = try await stage.answer(redirect.address)
    #expect(try await login.finish(query: query, cookies: jar.fields).returnTo == address)
  }

  @Test func `is not configured so that it could not be safe`() async throws {
    for address in [
      "http://app.example/callback", "app.example", "https://a:b@app.example/", "",
      "https://app.example/#a", " https://app.example/", "https://app.example/\n",
      "https://äpp.example/", "ftp://127.0.0.1/",
    ] {
      let error = #expect(throws: WebLoginError.self) {
        try stage.login(redirectAddress: address)
      }
      #expect(error?.code == .invalidConfiguration, "\(address)")
    }
    let short = SecretBytes([UInt8](repeating: 1, count: 31))
    let long = SecretBytes([UInt8](repeating: 1, count: 33))
    for key in [SecretBytes([]), short, long] {
      for (key, former) in [(key, []), (stage.key, [key])] {
        let error = #expect(throws: WebLoginError.self) {
          try stage.login(key: key, former: former)
        }
        #expect(error?.code == .invalidConfiguration)
      }
    }
    let path = "/" + String(repeating: "a", count: 2800)
    let error = await #expect(throws: WebLoginError.self) {
      try await stage.login().begin(returnTo: path)
    }
    #expect(error?.code == .invalidConfiguration && error?.reason.contains("4096") == true)
    _ = try await stage.login().begin(returnTo: String(path.prefix(2000)))
    for (scopes, age) in [(["mail"], Duration.zero), (["openid"], .seconds(-1))] {
      let error = await #expect(throws: WebLoginError.self) {
        try await stage.login(scopes: scopes).begin(maxAge: age)
      }
      #expect(error?.code == .invalidConfiguration)
    }
  }

  @Test func `leaves a browser four logins, the newest ones`() async throws {
    let login = try stage.login()
    var jar = CookieJar()
    var addresses: [URL] = []
    for _ in 0..<10 {
      stage.clock.advance(by: .seconds(1))
      let redirect = try await login.begin(cookies: jar.fields)
      for cookie in redirect.expiredCookies { jar.set(cookie) }
      jar.set(redirect.cookie)
      addresses.append(redirect.address)
    }
    #expect(jar.count == 4)
    let oldest = try await stage.answer(addresses[5])
    let error = await #expect(throws: WebLoginError.self) {
      try await login.finish(query: oldest, cookies: jar.fields)
    }
    #expect(error?.code == .nothingPending)
    for address in addresses.suffix(4) {
      let query = try await stage.answer(address)
      _ = try await login.finish(query: query, cookies: jar.fields)
    }
    // Cookies of others, and of the service itself, are left alone.
    let others = ["session=1; login-hint=ada; __Host-login-x=2; __Host-login-=", "login"]
    #expect(try await login.begin(cookies: others).expiredCookies.isEmpty)
  }

  @Test func `refuses an age that would not be checked`() async throws {
    var login = try stage.login()
    login.parameters = ["max_age": "60"]
    let error = await #expect(throws: WebLoginError.self) { try await login.begin() }
    #expect(error?.code == .invalidConfiguration)
  }

  @Test func `ignores parameters that it sets itself`() async throws {
    var login = try stage.login()
    login.parameters = [
      "prompt": "login", "state": "mine", "redirect_uri": "https://evil.example", "nonce": "1",
      "code_challenge_method": "plain",
    ]
    let fields = try LoginAddress(try await login.begin(maxAge: .seconds(60)).address).fields
    #expect(fields["prompt"] == "login" && fields["max_age"] == "60")
    #expect(fields["redirect_uri"] == WebServiceStage.redirectAddress)
    #expect(fields["code_challenge_method"] == "S256" && fields["state"]?.count == 43)
  }

  @Test func `has a maximum age that the server confirms`() async throws {
    let login = try stage.login()
    var jar = CookieJar()
    let redirect = try await login.begin(maxAge: .seconds(30))
    jar.set(redirect.cookie)
    let query = try await stage.answer(redirect.address)
    #expect(try await login.finish(query: query, cookies: jar.fields).identity != nil)
  }

  // MARK: - Secrecy

  @Test func `is in no text`() async throws {
    func texts(of value: Any) -> String {
      var dumped = ""
      dump(value, to: &dumped)
      return "\(value) \(String(reflecting: value)) \(dumped) "
        + Mirror(reflecting: value).children.map { "\($0)" }.joined()
    }
    let verifiers = Shared<[String]>([])
    let client = OAuthClient(
      issuer: stage.server.address, clientID: "app",
      http: WatchedHTTP { request in
        verifiers.update { $0 += [request.fields["code_verifier"]].compactMap(\.self) }
        return nil
      })
    let login = try WebServiceLogin(
      client: client, redirectAddress: WebServiceStage.redirectAddress, scopes: ["openid"],
      key: SecretBytes(utf8: "SECRETSECRETSECRETSECRETSECRET32"))
    var jar = CookieJar()
    let redirect = try await login.begin()
    jar.set(redirect.cookie)
    let fields = try LoginAddress(redirect.address).fields
    let query = try await stage.answer(redirect.address)
    let outcome = try await login.finish(query: query, cookies: jar.fields)
    let errors = await [
      #expect(throws: WebLoginError.self) { try await login.finish(query: query, cookies: []) },
      #expect(throws: WebLoginError.self) {
        try await login.finish(query: query, cookies: jar.changed { "\($0.dropLast())" })
      },
      #expect(throws: WebLoginError.self) {
        try await login.finish(query: query, cookies: jar.fields)
      },
      #expect(throws: WebLoginError.self) {
        try await login.finish(query: query + "&iss=a", cookies: jar.fields)
      },
    ].compactMap(\.self)
    #expect(errors.count == 4)
    let text =
      texts(of: login) + texts(of: redirect) + texts(of: outcome) + texts(of: redirect.cookie)
      + texts(of: try #require(outcome.identity)) + errors.map { texts(of: $0) }.joined()
    let value = try #require(jar.changed { $0 }[0].split(separator: "=").last)
    let secrets = try [
      #require(fields["state"]), #require(fields["nonce"]), #require(verifiers.now.first),
      #require(Form.decode(query)["code"]), String(value), "SECRET", outcome.credential.accessToken,
      "ada@mail.example", #require(outcome.credential.identityToken),
    ]
    for secret in secrets { #expect(!text.contains(secret)) }
  }
}
