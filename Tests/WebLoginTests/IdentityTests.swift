import Foundation
import SessionToolsBase
import SessionToolsTesting
import Testing
import WebLogin

/// A token with a change, and what comes of the login that gets it.
struct IdentityCase: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// `nil` if the login succeeds.
  let code: WebLoginError.Code?
  let change: @Sendable (inout IdentityDraft) -> Void

  private static func wrong(
    _ name: String, _ code: WebLoginError.Code = .incompleteResponse,
    _ change: @escaping @Sendable (inout IdentityDraft) -> Void
  ) -> IdentityCase {
    IdentityCase(testDescription: name, code: code, change: change)
  }

  private static func right(
    _ name: String, _ change: @escaping @Sendable (inout IdentityDraft) -> Void
  ) -> IdentityCase {
    IdentityCase(testDescription: name, code: nil, change: change)
  }

  private static func claim(_ name: String, _ value: String?) -> IdentityCase {
    wrong("\(name) is \(value ?? "absent")") { $0[name] = value }
  }

  private static func payload(
    _ name: String, _ change: @escaping @Sendable (String) -> Data
  ) -> IdentityCase {
    wrong(name) { $0.payload = change($0.object) }
  }

  private static let deep =
    String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)

  private static let long = "\"\(String(repeating: "a", count: 50_000))\""

  /// Tokens with one fault each.
  static let faulty: [IdentityCase] =
    [
      claim("iss", nil), claim("iss", "null"), claim("iss", "1"), claim("iss", #""""#),
      claim("iss", #""https://a.example/""#), claim("iss", #""https://A.example""#),
      claim("iss", #""https://b.example""#), claim("iss", #"["https://a.example"]"#),
      claim("sub", nil), claim("sub", "null"), claim("sub", #""""#), claim("sub", "7"),
      claim("sub", #""a\u0000b""#), claim("sub", #""\u001b[2J""#), claim("sub", #""ж""#),
      claim("sub", #""a\u007f""#), claim("sub", "{}"),
      wrong("sub has 256 characters") { $0["sub"] = "\"\(String(repeating: "a", count: 256))\"" },
      claim("aud", nil), claim("aud", "null"), claim("aud", "[]"), claim("aud", #""other""#),
      claim("aud", #""App""#), claim("aud", #"["app", 7]"#), claim("aud", #"["other"]"#),
      claim("aud", #"["app", "stranger"]"#), claim("aud", #"["friend"]"#), claim("aud", "1"),
      claim("azp", #""other""#), claim("azp", #""friend""#), claim("azp", "1"),
      claim("azp", #""""#),
      wrong("azp is another of several audiences") {
        $0["aud"] = #"["app", "friend"]"#
        $0["azp"] = #""friend""#
      },
      claim("exp", nil), claim("exp", "null"), claim("exp", #""1900000000""#),
      claim("exp", "1e400"), claim("exp", "-1"), claim("exp", "1e300"), claim("exp", "true"),
      wrong("exp was 60 s ago") { $0.shift("exp", by: -360) },
      wrong("exp was 61 s ago") { $0.shift("exp", by: -361) },
      claim("iat", nil), claim("iat", "null"), claim("iat", #""1800000000""#),
      claim("iat", "{}"), claim("iat", "NaN"), claim("iat", "0"),
      wrong("iat is in 60 s") { $0.shift("iat", by: 60) },
      wrong("iat is in 61 s") { $0.shift("iat", by: 61) },
      wrong("iat was 601 s ago") { $0.shift("iat", by: -601) },
      claim("nonce", nil), claim("nonce", "null"), claim("nonce", #""""#), claim("nonce", "1"),
      claim("nonce", #""SECRETSECRETSECRETSECRETSECRETSECRETSECRETSEC""#),
      wrong("nonce is cut") { $0["nonce"] = $0["nonce"].map { "\($0.dropLast(2))\"" } },
      claim("auth_time", #""now""#), claim("auth_time", "-1"), claim("auth_time", "1e400"),
      wrong("nonce stands twice") { $0.append("nonce", #""SECRET""#) },
      wrong("nonce stands twice, once escaped") { $0.append(#"n\u006fnce"#, #""SECRET""#) },
      wrong("sub stands twice with one value") { $0.append("sub", #""SECRET-subject""#) },
      wrong("iss stands twice") { $0.append("iss", #""https://b.example""#) },
      wrong("email stands twice") { $0.append("email", #""SECRET@other.example""#) },
      wrong("a claim is nested 10,000 levels deep") { $0["deep"] = deep },
      wrong("a claim is not JSON") { $0["more"] = "SECRET" },
      payload("there is text behind the claims") { Data("\($0) SECRET".utf8) },
      payload("the claims are cut") { Data($0.dropLast().utf8) },
      payload("the claims are a list") { Data("[\($0)]".utf8) },
      payload("the claims are a text") { _ in Data(#""SECRET""#.utf8) },
      payload("there are no claims") { _ in Data() },
      payload("the claims are empty") { _ in Data("{}".utf8) },
      payload("a byte order mark stands in front") { Data("\u{FEFF}\($0)".utf8) },
      payload("a blank stands in front") { Data(" \($0)".utf8) },
      payload("the claims are UTF-16") { $0.data(using: .utf16LittleEndian) ?? Data() },
      payload("the claims are UTF-16, with a mark") { $0.data(using: .utf16) ?? Data() },
      payload("the claims are Latin-1") {
        Data($0.dropLast().utf8) + Data(#", "city": "K"#.utf8) + [0xF6] + Data(#"ln"}"#.utf8)
      },
      wrong("the token is too large") { $0["more"] = long },
      wrong("alg is 'none'") { $0.header = #"{"alg": "none"}"# },
      wrong("alg is 'None'") { $0.header = #"{"alg": "None"}"# },
      wrong("alg is absent") { $0.header = #"{"typ": "JWT"}"# },
      wrong("alg is a number") { $0.header = #"{"alg": 256}"# },
      wrong("alg stands twice") { $0.header = #"{"alg": "RS256", "alg": "none"}"# },
      wrong("crit is there") { $0.header = #"{"alg": "RS256", "crit": ["exp"]}"# },
      wrong("crit is null") { $0.header = #"{"alg": "RS256", "crit": null}"# },
      wrong("the header is a list") { $0.header = #"["RS256"]"# },
      wrong("the header is empty") { $0.header = "" },
      wrong("the signature is empty") { $0.signature = "" },
      wrong("the signature is not Base64") { $0.signature = "c2lnbmF0dXJ!" },
      wrong("the signature is padded") { $0.signature = "c2lnbmF0dXJlcw==" },
      wrong("there are two parts") { $0.signature = nil },
      wrong("there are four parts") { $0.signature = "c2ln.c2ln" },
      wrong("it is encrypted", .unsupported) { $0.signature = "a.b.c" },
      wrong("there are six parts") { $0.signature = "c2ln.c2ln.c2ln.c2ln" },
    ]

  /// Tokens with none.
  static let faultless: [IdentityCase] =
    ["RS256", "ES256", "EdDSA", "HS256", "PS512"].map { name in
      right("alg is \(name)") { $0.header = #"{"alg": "\#(name)"}"# }
    } + [
      right("nothing is changed") { _ in },
      right("aud is a list") { $0["aud"] = #"["app"]"# },
      right("azp is the client") { $0["azp"] = #""app""# },
      right("azp is null") { $0["azp"] = "null" },
      right("there is a trusted audience, and no azp") { $0["aud"] = #"["friend", "app"]"# },
      right("there is a trusted audience, and azp") {
        $0["aud"] = #"["friend", "app"]"#
        $0["azp"] = #""app""#
      },
      right("exp was 59 s ago") { $0.shift("exp", by: -359) },
      right("iat is in 59 s") { $0.shift("iat", by: 59) },
      right("iat was 600 s ago") { $0.shift("iat", by: -600) },
      right("iat has a fraction") { $0["iat"] = $0["iat"].map { $0 + ".25" } },
      right("auth_time is absent") { $0["auth_time"] = nil },
      right("a claim has the name of another within it") {
        $0["more"] = #"{"nonce": "x", "sub": ["sub", {"sub": 1}], "a": "\"sub\": 1, \\"}"#
      },
      right("a value is the name of a claim") { $0["more"] = #"["sub", "nonce"]"# },
      right("a name is escaped") {
        let nonce = $0["nonce"]
        $0["nonce"] = nil
        $0.append(#"\u006eonce"#, nonce ?? "")
      },
      right("there are blanks around the claims") {
        $0["more"] = "\n\t1 \r\n"
      },
    ]
}

@Suite struct `an identity token` {
  private let clock = ManualClock()

  private func client(
    _ answer: @escaping @Sendable (OAuthHTTPRequest) -> OAuthHTTPResponse
  ) throws -> OAuthClient {
    OAuthClient(
      server: try AuthorizationServer(
        issuer: "https://a.example", authorizationEndpoint: "https://a.example/authorize",
        tokenEndpoint: "https://a.example/token",
        deviceAuthorizationEndpoint: "https://a.example/device"), clientID: "app",
      trustedAudiences: ["friend"], http: ScriptedHTTP(answer: answer), clock: clock)
  }

  private static func answer(
    _ token: String?, access: String = "new", _ headers: [String: String] = [:]
  ) -> OAuthHTTPResponse {
    let part = token.map { #", "id_token": "\#($0)""# } ?? ""
    return OAuthHTTPResponse(
      200, #"{"access_token": "\#(access)", "refresh_token": "RT2", "expires_in": 60\#(part)}"#,
      headers)
  }

  /// Logs in to a web service whose login server gives a token.
  private func signIn(
    maxAge: Duration? = nil, scopes: [String] = ["openid"], headers: [String: String] = [:],
    at now: Date? = nil, _ change: @escaping @Sendable (inout IdentityDraft) -> Void
  ) async throws -> WebServiceLogin.Outcome {
    let nonce = Shared<String?>(nil)
    let now = now ?? clock.now
    let client = try client { _ in
      var draft = IdentityDraft(nonce: nonce.now, at: now)
      change(&draft)
      return Self.answer(draft.text, headers)
    }
    let login = try WebServiceLogin(
      client: client, redirectAddress: "https://app.example/", scopes: scopes,
      key: SecretBytes([UInt8](repeating: 1, count: 32)))
    let redirect = try await login.begin(maxAge: maxAge)
    let address = try LoginAddress(redirect.address)
    nonce.update { $0 = address.fields["nonce"] }
    var jar = CookieJar()
    jar.set(redirect.cookie)
    return try await login.finish(query: "code=c&state=\(address.state)", cookies: jar.fields)
  }

  // MARK: - At a login

  @Test func `has a table of at least forty faults`() {
    #expect(IdentityCase.faulty.count >= 40)
    #expect(Set(IdentityCase.faulty.map(\.testDescription)).count == IdentityCase.faulty.count)
  }

  @Test(arguments: IdentityCase.faulty)
  func `with a fault ends the login, and is not quoted`(_ test: IdentityCase) async throws {
    let error = await #expect(throws: WebLoginError.self) { try await signIn(test.change) }
    #expect(error?.code == test.code)
    #expect(error?.isTransient == false)
    var text = "\(try #require(error))"
    dump(error, to: &text)
    #expect(!text.contains("SECRET") && !text.contains("b.example"), "\(text)")
    #expect(error?.underlying == nil)
  }

  @Test(arguments: IdentityCase.faultless)
  func `without a fault says who logged in`(_ test: IdentityCase) async throws {
    let outcome = try await signIn(test.change)
    let identity = try #require(outcome.identity)
    #expect(identity.subject == "SECRET-subject" && identity.issuer == "https://a.example")
    #expect(outcome.credential.identity?.subject == identity.subject)
  }

  @Test func `must be there if openid was asked for`() async throws {
    for scopes in [["openid"], ["mail openid"]] {
      let login = try WebServiceLogin(
        client: client { _ in Self.answer(nil) }, redirectAddress: "https://app.example/",
        scopes: scopes, key: SecretBytes([UInt8](repeating: 1, count: 32)))
      let redirect = try await login.begin()
      var jar = CookieJar()
      jar.set(redirect.cookie)
      let state = try LoginAddress(redirect.address).state
      let error = await #expect(throws: WebLoginError.self) {
        try await login.finish(query: "code=c&state=\(state)", cookies: jar.fields)
      }
      #expect(error?.code == .incompleteResponse)
      #expect(error?.reason.contains("has no id_token") == true)
    }
  }

  @Test func `is not verified if openid was not asked for`() async throws {
    let outcome = try await signIn(scopes: ["mail"]) { $0["iss"] = #""https://b.example""# }
    #expect(outcome.identity == nil && outcome.credential.identity == nil)
    #expect(outcome.credential.identityToken != nil)
  }

  @Test func `is as old as the server's clock says`() async throws {
    let date = try #require(HTTPDate.date("Fri, 15 Jan 2027 10:00:00 GMT"))
    let headers = ["Date": "Fri, 15 Jan 2027 10:00:00 GMT"]
    for lead in [-7200.0, 7200] {
      clock.set(now: date + lead)
      _ = try await signIn(headers: headers, at: date) { _ in }
      _ = try await signIn(maxAge: .zero, headers: headers, at: date) { _ in }
      let error = await #expect(throws: WebLoginError.self) {
        try await signIn(headers: headers, at: clock.now) { _ in }
      }
      #expect(error?.code == .incompleteResponse)
    }
  }

  @Test(
    arguments: [
      (0, 0, true), (0, -59, true), (0, -60, false), (0, -61, false), (100, -159, true),
      (100, -160, false), (100, 10, true), (0, nil, false), (1_000_000, nil, false),
    ] as [(Int, Int?, Bool)])
  func `is of an authentication that is as new as was asked for`(
    _ age: Int, _ time: Int?, _ isFine: Bool
  ) async throws {
    let change: @Sendable (inout IdentityDraft) -> Void = { draft in
      if let time { draft.shift("auth_time", by: time) } else { draft["auth_time"] = nil }
    }
    do {
      let outcome = try await signIn(maxAge: .seconds(age), change)
      #expect(isFine && outcome.identity?.authenticationDate != nil)
    } catch let error as WebLoginError {
      #expect(!isFine && error.code == .incompleteResponse)
    }
  }

  @Test func `has the claims that the program decodes`() async throws {
    struct Profile: Decodable {
      let name: String
      let groups: [String]
    }
    let identity = try #require(
      try await signIn {
        $0["name"] = #""Ada""#
        $0["groups"] = #"["a", "b"]"#
      }.identity)
    let profile = try identity.claims(as: Profile.self)
    #expect(profile.name == "Ada" && profile.groups == ["a", "b"])
    #expect(identity.email == "SECRET@mail.example" && !identity.isEmailVerified)
    #expect(identity.issueDate == clock.now && identity.expirationDate == clock.now + 300)
    struct Wrong: Decodable { let sub: Int }
    let error = #expect(throws: WebLoginError.self) { try identity.claims(as: Wrong.self) }
    #expect(error?.code == .incompleteResponse && error?.underlying == nil)
  }

  @Test(
    arguments: [
      (nil, false), ("true", true), (#""true""#, true), ("false", false), (#""false""#, false),
      ("1", false), ("null", false), (#""TRUE""#, false),
    ] as [(String?, Bool)])
  func `has an e-mail address that is verified only if it says so`(
    _ value: String?, _ isVerified: Bool
  ) async throws {
    let identity = try await signIn { $0["email_verified"] = value }.identity
    #expect(identity?.isEmailVerified == isVerified)
  }

  @Test(arguments: ["5", "null", "[]"])
  func `may have an e-mail address that is not a text`(_ value: String) async throws {
    let identity = try await signIn { $0["email"] = value }.identity
    #expect(identity != nil && identity?.email == nil)
  }

  // MARK: - On another device

  @Test(arguments: [true, false])
  func `of a login on another device has no nonce`(_ hasNonce: Bool) async throws {
    let now = clock.now
    let client = try client { request in
      request.url.path() == "/token"
        ? Self.answer(IdentityDraft(nonce: hasNonce ? "n" : nil, at: now).text)
        : OAuthHTTPResponse(
          200,
          """
          {"device_code": "d", "user_code": "U", "verification_uri": "https://a.example",
           "interval": 1}
          """)
    }
    let authorization = try await client.authorizeDevice(scopes: ["openid"])
    let ending = Task { try await client.credential(for: authorization) }
    await clock.waitForSleeper(within: .seconds(1))
    clock.advance(by: .seconds(1))
    if hasNonce {
      let error = await #expect(throws: WebLoginError.self) { try await ending.value }
      #expect(error?.code == .incompleteResponse)
    } else {
      #expect(try await ending.value.identity?.subject == "SECRET-subject")
    }
  }

  // MARK: - At a refresh

  /// Logs in, and refreshes with an answer that has a token with a change, or none.
  ///
  /// - Returns: The credential of the login, the result of the refresh, and what is stored then.
  private func refresh(
    _ change: (@Sendable (inout IdentityDraft) -> Void)?
  ) async throws -> (OAuthCredential, Result<OAuthCredential, any Error>, OAuthCredential?) {
    let old = try await signIn { _ in }.credential
    clock.advance(by: .seconds(3000))
    let now = clock.now
    let client = try client { _ in
      var draft = IdentityDraft(nonce: nil, at: now)
      change?(&draft)
      return Self.answer(change == nil ? nil : draft.text, access: "newer")
    }
    let session = UserSession(
      container: try StoreContainer<OAuthCredential>(MemoryStore(), service: "test"),
      storageIdentifier: "login", refresher: client.refresher())
    try await session.signIn(old)
    let new: Result<OAuthCredential, any Error>
    do {
      new = .success(try await session.validItem())
    } catch {
      new = .failure(error)
    }
    return (old, new, try await session.item())
  }

  @Test(arguments: [
    "same person", "another e-mail", "trusted audience",
  ])
  func `of the same person replaces the old one`(_ kind: String) async throws {
    let (old, new, stored) = try await refresh { draft in
      switch kind {
      case "another e-mail": draft["email"] = #""new@mail.example""#
      case "trusted audience": draft["aud"] = #"["app", "friend"]"#
      default: break
      }
    }
    let credential = try new.get()
    #expect(credential.accessToken == "newer" && stored == credential)
    #expect(credential.identityToken != old.identityToken)
    #expect(credential.identity?.subject == "SECRET-subject")
    if kind == "another e-mail" { #expect(credential.identity?.email == "new@mail.example") }
  }

  @Test func `may repeat the nonce of the login`() async throws {
    let old = try await signIn { _ in }.credential
    let now = clock.now
    for (nonce, isFine) in [(old.nonce, true), ("other", false)] {
      let client = try client { _ in
        Self.answer(IdentityDraft(nonce: nonce, at: now).text, access: "newer")
      }
      do {
        #expect(try await client.refresh(old).identity != nil && isFine)
      } catch {
        #expect(!isFine && error.code == .incompleteResponse && error.credential == nil)
      }
    }
  }

  /// The tokens of such an answer are someone else's.
  @Test(
    arguments: [
      ("sub", #""other""#), ("sub", #""secret-subject""#), ("iss", #""https://b.example""#),
      ("aud", #""other""#), ("aud", #"["app", "stranger"]"#), ("azp", #""other""#),
      ("nonce", #""other""#),
    ])
  func `of another person is refused, and the old credential stays`(
    _ name: String, _ value: String
  ) async throws {
    let (old, new, stored) = try await refresh { $0[name] = value }
    #expect(stored == old)
    let error = #expect(throws: SessionError.self) { try new.get() }
    let cause = try #require(error?.underlying as? WebLoginError)
    #expect(cause.code == .incompleteResponse && cause.credential == nil)
    #expect(!"\(cause)".contains("other\"") && !"\(cause)".contains("SECRET"))
  }

  /// The refresh token is spent, so the new ones must not be lost.
  @Test(
    arguments: [
      ("exp", "1"), ("exp", nil), ("iat", "1"), ("sub", nil), ("iss", "7"), ("deep", "NaN"),
    ] as [(String, String?)])
  func `that cannot be read does not cost the new tokens`(
    _ name: String, _ value: String?
  ) async throws {
    let (old, new, stored) = try await refresh { $0[name] = value }
    let credential = try new.get()
    #expect(credential.accessToken == "newer" && credential.refreshToken == "RT2")
    #expect(credential.identityToken == old.identityToken && credential.identity != nil)
    #expect(stored == credential)
  }

  @Test func `may be absent from the answer to a refresh`() async throws {
    let (old, new, _) = try await refresh(nil)
    let credential = try new.get()
    #expect(credential.identityToken == old.identityToken)
    #expect(credential.identity?.subject == "SECRET-subject")
  }

  @Test func `that was never checked makes no identity`() async throws {
    let old = OAuthCredential(accessToken: "old", refreshToken: "RT1", expirationDate: nil)
    let now = clock.now
    let client = try client { _ in Self.answer(IdentityDraft(nonce: nil, at: now).text) }
    let new = try await client.refresh(old)
    #expect(new.identityToken != nil && new.identity == nil)
    #expect(try await client.refresh(new).identity == nil)
  }

  // MARK: - In a store

  @Test func `is stored with its credential`() async throws {
    let credential = try await signIn { _ in }.credential
    let stored = try JSONEncoder().encode(credential)
    let again = try JSONDecoder().decode(OAuthCredential.self, from: stored)
    #expect(again == credential && again.identity?.subject == "SECRET-subject")
    // As an older version wrote it, which checked nothing.
    var members = try #require(
      try JSONSerialization.jsonObject(with: stored) as? [String: Any])
    #expect(members.removeValue(forKey: "isIdentityVerified") != nil)
    let old = try JSONDecoder().decode(
      OAuthCredential.self, from: JSONSerialization.data(withJSONObject: members))
    #expect(old.identity == nil && old.identityToken == credential.identityToken)
  }
}
