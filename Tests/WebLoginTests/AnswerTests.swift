import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestThreads
import Testing
import WebLogin

/// One table of answers, given to each kind of request.
@Suite struct `an answer of a token endpoint` {
  private let clock = ManualClock()

  private func client(
    _ answer: @escaping @Sendable (OAuthHTTPRequest) async throws -> OAuthHTTPResponse
  ) throws -> OAuthClient {
    OAuthClient(
      server: try AuthorizationServer(
        issuer: "https://a.example", authorizationEndpoint: "https://a.example/authorize",
        tokenEndpoint: "https://a.example/token",
        deviceAuthorizationEndpoint: "https://a.example/device",
        revocationEndpoint: "https://a.example/revoke"), clientID: "app",
      http: ScriptedHTTP(answer: answer), clock: clock)
  }

  // MARK: - Logins

  /// A browser in which the person allows everything at once.
  private struct QuickBrowser: LoginBrowser {
    func open(_ address: URL) async throws(WebLoginError) {
      do {
        let login = try LoginAddress(address)
        let target = "\(login.redirect.path())?code=c&state=\(login.state)"
        _ = try await Stranger.get(target, from: login.port)
      } catch {
        Issue.record(error)
      }
    }
  }

  private func check(
    _ odd: OddAnswer, _ login: () async throws -> OAuthCredential
  ) async throws {
    do {
      #expect(OddAnswer.Tokens.of(try await login()) == odd.login)
    } catch let error as WebLoginError {
      #expect(error.code == odd.loginError, "\(error)")
      #expect(error.credential == nil)
    }
  }

  @Test(arguments: OddAnswer.all)
  func `to a login in a browser`(_ odd: OddAnswer) async throws {
    let client = try client { _ in odd.response }
    var login = WebAuthenticationSession(client: client)
    login.browser = QuickBrowser()
    try await check(odd) { try await login.start() }
  }

  @Test(arguments: OddAnswer.all)
  func `to a login on another device`(_ odd: OddAnswer) async throws {
    let polls = Shared(0)
    let client = try client { request in
      guard request.url.path() == "/token" else {
        return OAuthHTTPResponse(
          200,
          """
          {"device_code": "d", "user_code": "U", "verification_uri": "https://a.example",
           "expires_in": 60, "interval": 1}
          """)
      }
      polls.update { $0 += 1 }
      return odd.response
    }
    let authorization = try await client.authorizeDevice()
    let ending = Task { try await client.credential(for: authorization) }
    await clock.waitForSleeper(within: .seconds(1))
    clock.advance(by: .seconds(1))
    try await check(odd) { try await ending.value }
    #expect(polls.now == 1, "the code is spent by then, or refused")
  }

  // MARK: - Refreshes

  @Test(arguments: OddAnswer.all)
  func `to a refresh`(_ odd: OddAnswer) async throws {
    let sent = Shared<[String]>([])
    let client = try client { request in
      let number = sent.update { sent in
        sent.append(request.fields["refresh_token"] ?? "none")
        return sent.count
      }
      return number == 1
        ? odd.response : OAuthHTTPResponse(200, #"{"access_token": "last", "expires_in": 3600}"#)
    }
    let session = UserSession(
      container: try StoreContainer<OAuthCredential>(MemoryStore(), service: "test"),
      storageIdentifier: "login", refresher: client.refresher())
    try await session.signIn(
      OAuthCredential(accessToken: "old", refreshToken: "RT1", expirationDate: clock.now - 1))
    do {
      #expect(try await session.validItem().accessToken == odd.refreshed?.access)
      #expect(odd.refreshError == nil)
    } catch let error as SessionError {
      let cause = try #require(error.underlying as? WebLoginError, "\(error)")
      #expect(cause.code == odd.refreshError, "\(cause)")
      #expect((error.code == .rejected) == (odd.refreshed == nil))
    }
    #expect(OddAnswer.Tokens.of(try await session.item()) == odd.refreshed)
    #expect(sent.now == ["RT1"], "the token is not sent again in the same call")

    // What is sent next, when the tokens have expired.
    guard let refreshed = odd.refreshed else { return }
    clock.advance(by: .seconds(86_400))
    guard try await session.item()?.expirationDate != nil else { return }
    #expect(try await session.validItem().accessToken == "last")
    #expect(sent.now == ["RT1", refreshed.refresh])
  }

  @Test(arguments: OddAnswer.all)
  func `to a refresh without a session`(_ odd: OddAnswer) async throws {
    let client = try client { _ in odd.response }
    let old = OAuthCredential(accessToken: "old", refreshToken: "RT1", expirationDate: nil)
    do {
      let new = try await client.refresh(old)
      #expect(OddAnswer.Tokens.of(new) == odd.refreshed && odd.refreshError == nil)
      #expect(new.scopes.count <= 1 << 13)
    } catch let error {
      #expect(error.code == odd.refreshError, "\(error)")
      let isHalved = odd.refreshed?.access == "old" && odd.refreshed?.refresh == "RT2"
      #expect(OddAnswer.Tokens.of(error.credential) == (isHalved ? odd.refreshed : nil))
    }
  }

  @Test func `that broke off spends the token as well`() async throws {
    let sent = Shared(0)
    let client = try client { _ in
      sent.update { $0 += 1 }
      throw OAuthHTTPError(.noResponse, status: 200, reason: "the connection broke")
    }
    let session = UserSession(
      container: try StoreContainer<OAuthCredential>(MemoryStore(), service: "test"),
      storageIdentifier: "login", refresher: client.refresher())
    try await session.signIn(
      OAuthCredential(accessToken: "old", refreshToken: "RT1", expirationDate: clock.now - 1))
    let error = await #expect(throws: SessionError.self) { try await session.validItem() }
    #expect((error?.underlying as? WebLoginError)?.code == .unreachable)
    #expect(sent.now == 1)
  }

  @Test(arguments: [OAuthHTTPError.noResponse, .timedOut])
  func `that broke off behind the tokens is kept`(_ code: OAuthHTTPError.Code) async throws {
    let client = try client { _ in
      var error = OAuthHTTPError(code, status: 200, reason: "the rest is missing")
      error.received = OAuthHTTPResponse(200, #"{"access_token": "new", "refresh_token": "RT2"}"#)
      throw error
    }
    let old = OAuthCredential(accessToken: "old", refreshToken: "RT1", expirationDate: nil)
    let new = try await client.refresh(old)
    #expect(new.accessToken == "new" && new.refreshToken == "RT2")
  }

  @Test func `with half of the tokens keeps an access token that is still valid`() async throws {
    let client = try client { _ in OAuthHTTPResponse(200, #"{"refresh_token": "RT2"}"#) }
    let session = UserSession(
      container: try StoreContainer<OAuthCredential>(MemoryStore(), service: "test"),
      storageIdentifier: "login", refresher: client.refresher())
    try await session.signIn(
      OAuthCredential(accessToken: "old", refreshToken: "RT1", expirationDate: clock.now + 30))
    #expect(try await session.validItem().accessToken == "old")
    #expect(try await session.item()?.refreshToken == "RT2")
  }

  // MARK: - Revocation

  @Test(arguments: OddAnswer.all)
  func `to a revocation`(_ odd: OddAnswer) async throws {
    let sent = Shared<[String]>([])
    let client = try client { request in
      sent.update { $0.append(request.fields["token"] ?? "none") }
      return odd.response
    }
    let credential = OAuthCredential(accessToken: "AT", refreshToken: "RT", expirationDate: nil)
    do {
      try await client.revoke(credential)
      #expect(odd.revocationError == nil)
    } catch let error {
      #expect(error.code == odd.revocationError, "\(error)")
    }
    #expect(sent.now == ["RT", "AT"], "one that fails does not keep the other from being revoked")
  }
}
