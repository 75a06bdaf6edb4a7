import Foundation
import SessionToolsBase
import SessionToolsTesting
import Testing
import WebLogin

@Suite struct `a credential` {
  private let clock = ManualClock()

  private func client(
    _ authentication: ClientAuthentication = .none,
    _ answer: @escaping @Sendable (OAuthHTTPRequest) async throws -> OAuthHTTPResponse
  ) throws -> OAuthClient {
    OAuthClient(
      server: try AuthorizationServer(
        issuer: "https://a.example", authorizationEndpoint: nil,
        tokenEndpoint: "https://a.example/token",
        revocationEndpoint: "https://a.example/revoke"), clientID: "app:1",
      authentication: authentication, http: ScriptedHTTP(answer: answer), clock: clock)
  }

  private static let old = OAuthCredential(
    accessToken: "old", refreshToken: "refresh token", expirationDate: nil, scopes: ["mail"])

  // MARK: - Answers

  @Test(
    arguments: [
      ("3600", 3600.0), (#""3600""#, 3600), (#"" 3600 ""#, 3600), ("1e300", 1e9), ("null", nil),
      (#""soon""#, nil), ("true", nil), ("0.5", 0.5), ("0", 120), ("-5", 120), (#""-1""#, 120),
    ] as [(String, TimeInterval?)])
  func `expires as the server says`(_ lifetime: String, _ seconds: TimeInterval?) async throws {
    let client = try client { _ in
      OAuthHTTPResponse(
        200, #"{"access_token": "new", "token_type": "bearer", "expires_in": \#(lifetime)}"#)
    }
    let new = try await client.refresh(Self.old)
    #expect(new.expirationDate == seconds.map { clock.now + $0 })
    #expect(new.refreshToken == "refresh token", "a server that does not rotate")
    #expect(new.scopes == ["mail"] && new.tokenType == "bearer")
  }

  /// Servers write 0 or -1 for a token without an end.
  @Test(arguments: ["0", "-1", #""0""#])
  func `without a lifetime is refreshed at most once a minute`(_ lifetime: String) async throws {
    let count = Shared(0)
    let client = try client { _ in
      let number = count.update { count in
        count += 1
        return count
      }
      return OAuthHTTPResponse(
        200, #"{"access_token": "token \#(number)", "expires_in": \#(lifetime)}"#)
    }
    let session = try session(client, MemoryStore())
    try await session.signIn(
      OAuthCredential(accessToken: "old", refreshToken: "r", expirationDate: clock.now - 1))
    for second in 0...120 {
      #expect(try await session.validItem().accessToken == "token \(second / 60 + 1)")
      clock.advance(by: .seconds(1))
    }
  }

  @Test(arguments: ["0", "-1"])
  func `without a lifetime and a refresh token never expires`(_ lifetime: String) async throws {
    let client = OAuthClient(
      server: try AuthorizationServer(
        issuer: "https://a.example", authorizationEndpoint: nil,
        tokenEndpoint: "https://a.example/token",
        deviceAuthorizationEndpoint: "https://a.example/device"), clientID: "app",
      http: ScriptedHTTP { request in
        OAuthHTTPResponse(
          200,
          request.url.path() == "/token"
            ? #"{"access_token": "new", "expires_in": \#(lifetime)}"#
            : """
            {"device_code": "d", "user_code": "U", "verification_uri": "https://a.example",
             "interval": 1}
            """)
      }, clock: clock)
    let authorization = try await client.authorizeDevice()
    let ending = Task { try await client.credential(for: authorization) }
    await clock.waitForSleeper(within: .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(try await ending.value.expirationDate == nil)
  }

  @Test func `expires in time on a machine whose clock is wrong`() async throws {
    let clock = clock
    let client = try client { _ in
      // The server takes three seconds to answer, and its clock is two hours ahead.
      clock.advance(by: .seconds(3))
      return OAuthHTTPResponse(
        200, #"{"access_token": "new", "token_type": "Bearer", "expires_in": 60}"#,
        ["date": "Fri, 15 Jan 2027 10:00:03 GMT"])
    }
    clock.set(now: try #require(HTTPDate.date("Fri, 15 Jan 2027 08:00:00 GMT")))
    let sent = clock.now
    let new = try await client.refresh(Self.old)
    #expect(new.serverExpirationDate == HTTPDate.date("Fri, 15 Jan 2027 10:01:03 GMT"))
    #expect(new.serverClockLead == 7203)
    #expect(new.expirationDate == sent + 60)
    let again = try JSONDecoder().decode(
      OAuthCredential.self, from: JSONEncoder().encode(new))
    #expect(again == new)
  }

  /// Some give it at the login alone.
  @Test func `keeps the lifetime that the server does not repeat`() async throws {
    let count = Shared(0)
    let client = try client { _ in
      let lifetime = count.update { count in
        count += 1
        return count == 1 ? #", "expires_in": 600"# : ""
      }
      return OAuthHTTPResponse(200, #"{"access_token": "new"\#(lifetime)}"#)
    }
    let first = try await client.refresh(Self.old)
    clock.advance(by: .seconds(500))
    let second = try await client.refresh(first)
    #expect(second.expirationDate == clock.now + 600)
    #expect(try await client.refresh(second).expirationDate == clock.now + 600)
  }

  @Test func `is made of the fields of the answer`() async throws {
    let client = try client { _ in
      OAuthHTTPResponse(
        200,
        """
        {"access_token": "new", "token_type": "Bearer", "refresh_token": "next", "scope": "a b",
         "id_token": "e30.e30.", "more": {"x": 1}}
        """)
    }
    let new = try await client.refresh(Self.old)
    #expect(new.refreshToken == "next" && new.scopes == ["a", "b"])
    #expect(new.identityToken == "e30.e30." && new.expirationDate == nil)
  }

  @Test(
    arguments: [
      (400, #"{"error": "invalid_grant"}"#, WebLoginError.refused, false),
      (
        200, #"{"error": "invalid_grant", "error_description": "no"}"#, WebLoginError.refused, false
      ),
      (401, #"{"error": "invalid_client"}"#, WebLoginError.refused, false),
      (400, #"{"error": "invalid_scope"}"#, WebLoginError.refused, false),
      (400, #"{"error": "temporarily_unavailable"}"#, WebLoginError.unavailable, true),
      (500, #"{"error": "invalid_grant"}"#, WebLoginError.unavailable, true),
      (429, "", WebLoginError.unavailable, true), (503, "<html>", WebLoginError.unavailable, true),
      (200, "<html>", WebLoginError.invalidResponse, true),
      (200, "{}", WebLoginError.incompleteResponse, false),
      (403, #"{"message": "no"}"#, WebLoginError.incompleteResponse, false),
      (302, "", WebLoginError.invalidResponse, true),
      (404, "", WebLoginError.missingEndpoint, false),
      (403, "<html>", WebLoginError.invalidResponse, true),
      (301, "", WebLoginError.missingEndpoint, false),
      (200, #"{"access_token": ""}"#, WebLoginError.incompleteResponse, false),
    ] as [(Int, String, WebLoginError.Code, Bool)])
  func `is not made of any other answer`(
    _ status: Int, _ body: String, _ code: WebLoginError.Code, _ isTransient: Bool
  ) async throws {
    let client = try client { _ in OAuthHTTPResponse(status, body) }
    let error = await #expect(throws: WebLoginError.self) { try await client.refresh(Self.old) }
    #expect(error?.code == code && error?.isTransient == isTransient)
  }

  // MARK: - Requests

  @Test func `is requested with the client's authentication`() async throws {
    let sent = Shared<[OAuthHTTPRequest]>([])
    for authentication: ClientAuthentication in [
      .none, .basic(secret: SecretBytes(utf8: "p w")), .post(secret: SecretBytes(utf8: "p w")),
    ] {
      let client = try client(authentication) { request in
        sent.update { $0.append(request) }
        return OAuthHTTPResponse(200, #"{"access_token": "new", "token_type": "Bearer"}"#)
      }
      _ = try await client.refresh(Self.old)
    }
    let fields = sent.now.map(\.fields)
    let common = ["grant_type": "refresh_token", "refresh_token": "refresh token"]
    #expect(fields[0] == common.merging(["client_id": "app:1"]) { $1 })
    #expect(fields[1] == common)
    #expect(fields[2] == common.merging(["client_id": "app:1", "client_secret": "p w"]) { $1 })
    let pair = Data("app%3A1:p%20w".utf8).base64EncodedString()
    #expect(sent.now[1].headers["Authorization"] == "Basic \(pair)")
    #expect(sent.now[0].headers["Authorization"] == nil)
  }

  @Test(arguments: [OAuthHTTPError.noResponse, .timedOut], [true, false])
  func `is requested once more at once only if the answer was lost`(
    _ code: OAuthHTTPError.Code, _ wasSent: Bool
  ) async throws {
    let count = Shared(0)
    let client = try client { _ in
      let number = count.update { count in
        count += 1
        return count
      }
      if number == 1 { throw OAuthHTTPError(code, wasSent: wasSent, reason: "it is lost") }
      return OAuthHTTPResponse(200, #"{"access_token": "new"}"#)
    }
    let new = try? await client.refresh(Self.old)
    #expect(new?.accessToken == (wasSent ? "new" : nil))
    #expect(count.now == (wasSent ? 2 : 1))
  }

  // MARK: - Sessions

  private func session(_ client: OAuthClient, _ store: MemoryStore) throws -> UserSession<
    OAuthCredential
  > {
    UserSession(
      container: try StoreContainer<OAuthCredential>(store, service: "test"),
      storageIdentifier: "login", refresher: client.refresher())
  }

  @Test func `is refreshed by its session`() async throws {
    let client = try client { _ in
      OAuthHTTPResponse(
        200, #"{"access_token": "new", "token_type": "Bearer", "expires_in": 3600}"#)
    }
    let session = try session(client, MemoryStore())
    try await session.signIn(
      OAuthCredential(accessToken: "old", refreshToken: "r", expirationDate: clock.now + 30))
    #expect(try await session.validItem().accessToken == "new")
  }

  @Test func `is removed when its refresh token is no longer valid`() async throws {
    let client = try client { _ in OAuthHTTPResponse(400, #"{"error": "invalid_grant"}"#) }
    let session = try session(client, MemoryStore())
    try await session.signIn(
      OAuthCredential(accessToken: "old", refreshToken: "r", expirationDate: clock.now - 1))
    let error = await #expect(throws: SessionError.self) { try await session.validItem() }
    #expect(error?.code == .rejected)
    #expect(try await session.item() == nil)
  }

  @Test(arguments: [
    (OAuthHTTPResponse(401, #"{"error": "invalid_client"}"#), WebLoginError.refused),
    (OAuthHTTPResponse(503, "", ["Retry-After": "600"]), WebLoginError.unavailable),
  ])
  func `is kept when the server refuses it for other reasons`(
    _ response: OAuthHTTPResponse, _ code: WebLoginError.Code
  ) async throws {
    let client = try client { _ in response }
    let session = try session(client, MemoryStore())
    try await session.signIn(
      OAuthCredential(accessToken: "old", refreshToken: "r", expirationDate: clock.now - 1))
    let error = await #expect(throws: SessionError.self) { try await session.validItem() }
    #expect(error?.code == .temporarilyFailed)
    #expect((error?.underlying as? WebLoginError)?.code == code)
    #expect(try await session.item()?.accessToken == "old")
  }

  /// As Microsoft's servers refuse a good token.
  @Test(arguments: [
    ("basic_action", false), ("consent_required", false), ("bad_token", true),
    ("token_expired", true),
  ])
  func `is kept while something else than its token is missing`(
    _ suberror: String, _ isRemoved: Bool
  ) async throws {
    let client = try client { _ in
      OAuthHTTPResponse(400, #"{"error": "invalid_grant", "suberror": "\#(suberror)"}"#)
    }
    let session = try session(client, MemoryStore())
    try await session.signIn(
      OAuthCredential(accessToken: "old", refreshToken: "r", expirationDate: clock.now - 1))
    let error = await #expect(throws: SessionError.self) { try await session.validItem() }
    #expect(error?.code == (isRemoved ? .rejected : .temporarilyFailed))
    #expect((error?.underlying as? WebLoginError)?.requiresLogin == true)
    #expect(try await session.item()?.accessToken == (isRemoved ? nil : "old"))
  }

  /// A machine starts with a clock that is hours ahead, as with a hardware clock in local time.
  @Test(arguments: [(-4 * 3600.0, 2), (-60, 1)])
  func `is refreshed by a process that finds that the clock was set back since`(
    _ jump: Double, _ count: Int
  ) async throws {
    let sent = Shared(0)
    let client = try client { _ in
      sent.update { $0 += 1 }
      return OAuthHTTPResponse(200, #"{"access_token": "new", "expires_in": 3600}"#)
    }
    let (before, after) = (MemoryStore(), MemoryStore())
    let first = try session(client, before)
    try await first.signIn(
      OAuthCredential(accessToken: "old", refreshToken: "r", expirationDate: clock.now))
    _ = try await first.validItem()
    for name in try await before.names(in: nil) {
      let value = try #require(try await before.value(for: name))
      try await after.put(value, for: name)
    }
    clock.jump(wallClockBy: .seconds(jump))
    let second = try session(client, after)
    for _ in 0..<3 { _ = try await second.validItem() }
    #expect(sent.now == count)
  }

  @Test func `is kept without a refresh token and nothing is sent`() async throws {
    let client = try client { _ in
      throw OAuthHTTPError(.noResponse, reason: "nothing is to be sent")
    }
    let session = try session(client, MemoryStore())
    try await session.signIn(
      OAuthCredential(accessToken: "old", refreshToken: nil, expirationDate: clock.now + 30))
    #expect(try await session.validItem().accessToken == "old")
    clock.advance(by: .seconds(31))
    let error = await #expect(throws: SessionError.self) { try await session.validItem() }
    #expect((error?.underlying as? WebLoginError)?.code == .noRefreshToken)
  }

  @Test func `is refreshed as a part of an item whose rest is kept`() async throws {
    struct Account: Codable, Sendable, Equatable {
      var name: String
      var credential: OAuthCredential
    }
    let store = MemoryStore()
    let container = try StoreContainer<Account>(store, service: "test")
    let client = try client { _ in
      // The name is changed meanwhile.
      var account = try #require(try await container.asyncLoadItem(forIdentifier: "a"))
      account.name = "Ada King"
      try await container.asyncStoreItem(account, forIdentifier: "a")
      return OAuthHTTPResponse(200, #"{"access_token": "new", "token_type": "Bearer"}"#)
    }
    let session = UserSession(
      container: container, storageIdentifier: "a", refresher: client.refresher(of: \.credential))
    try await session.signIn(
      Account(
        name: "Ada",
        credential: OAuthCredential(
          accessToken: "old", refreshToken: "r", expirationDate: clock.now)))
    let account = try await session.validItem()
    #expect(account.name == "Ada King" && account.credential.accessToken == "new")
  }

  // MARK: - Signing out

  @Test func `is revoked and removed`() async throws {
    let sent = Shared<[[String: String]]>([])
    let client = try client { request in
      sent.update { $0.append(request.fields) }
      return OAuthHTTPResponse(200)
    }
    let session = try session(client, MemoryStore())
    try await session.signIn(Self.old)
    try await session.signOut(revokingWith: client)
    #expect(try await session.item() == nil)
    #expect(sent.now.map { $0["token"] } == ["refresh token", "old"])
    #expect(sent.now.map { $0["token_type_hint"] } == ["refresh_token", "access_token"])
  }

  @Test func `is removed even if the server cannot be reached`() async throws {
    let client = try client { _ in
      throw OAuthHTTPError(.noResponse, wasSent: false, reason: "no network")
    }
    let session = try session(client, MemoryStore())
    try await session.signIn(Self.old)
    let error = await #expect(throws: WebLoginError.self) {
      try await session.signOut(revokingWith: client)
    }
    #expect(error?.code == .unreachable)
    #expect(try await session.item() == nil)
  }

  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Sunday, 06-Nov-94 08:49:37 GMT", nil), ("", nil), ("Sun, 06 Nov 1994 08:49 GMT", nil),
      ("Sun, 06 Foo 1994 08:49:37 GMT", nil),
    ] as [(String, TimeInterval?)])
  func `has dates in the form of HTTP`(_ text: String, _ seconds: TimeInterval?) {
    #expect(HTTPDate.date(text)?.timeIntervalSince1970 == seconds)
  }
}
