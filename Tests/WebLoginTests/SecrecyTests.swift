import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsBase
import SessionToolsTestSupport
import Testing
import WebLogin

extension `one at a time` {
  /// Printed text contains no secrets.
  @Suite struct `printed text` {
    private func texts(of value: Any) -> String {
      var dumped = ""
      dump(value, to: &dumped)
      return "\(value) \(String(reflecting: value)) \(dumped) "
        + Mirror(reflecting: value).children.map { "\($0)" }.joined()
    }

    @Test func `shows no token`() {
      let credential = OAuthCredential(
        accessToken: "SECRET", refreshToken: "SECRET", expirationDate: nil)
      struct Account { let credential: OAuthCredential }
      #expect(!texts(of: credential).contains("SECRET"))
      #expect(!texts(of: Account(credential: credential)).contains("SECRET"))
      #expect(!texts(of: [credential]).contains("SECRET"))
      #expect(!texts(of: Optional(credential) as Any).contains("SECRET"))
    }

    @Test func `shows nothing of requests and answers`() async throws {
      let seen = Shared<[String]>([])
      let authentication = ClientAuthentication.basic(secret: SecretBytes(utf8: "SECRET"))
      let client = OAuthClient(
        server: try AuthorizationServer(
          issuer: "https://a.example", authorizationEndpoint: nil,
          tokenEndpoint: "https://a.example/token"), clientID: "app",
        authentication: authentication,
        http: ScriptedHTTP { request in
          let response = OAuthHTTPResponse(
            400, #"{"error": "invalid_grant", "error_description": "SECRET is spent"}"#,
            ["x": "SECRET"])
          seen.update { $0 += [texts(of: request), texts(of: response)] }
          return response
        })
      let error = await #expect(throws: WebLoginError.self) {
        try await client.refresh(
          OAuthCredential(accessToken: "SECRET", refreshToken: "SECRET", expirationDate: nil))
      }
      seen.update { $0 += [texts(of: client), texts(of: authentication)] }
      #expect(seen.now.count == 4 && seen.now.allSatisfy { !$0.contains("SECRET") })
      #expect(error?.refusal?.text == "SECRET is spent", "it is available on request")
      #expect(!texts(of: try #require(error)).contains("SECRET"))
    }

    @Test func `shows nothing of a login that is pending or has failed`() async throws {
      let store = MemoryStore()
      let browser = WatchedBrowser()
      let client = OAuthClient(
        server: try AuthorizationServer(
          issuer: "https://a.example", authorizationEndpoint: "https://a.example/authorize",
          tokenEndpoint: "https://a.example/token"), clientID: "app",
        http: ScriptedHTTP { _ in throw OAuthHTTPError(.noResponse, reason: "it broke")
        })
      let container = try StoreContainer<PendingLogin>(store, service: "test")
      var login = WebAuthenticationSession(client: client, pending: PendingLogin.Storage(container))
      login.browser = browser
      let session = login
      let ending = Task { try await session.start() }
      let address = try await browser.address()
      let pending = try #require(try await container.asyncLoadItem(forIdentifier: "pending-login"))
      let kept = try #require(
        try await store.value(for: ItemName("pending-login", in: StoreNamespace(service: "test"))))
      struct Kept: Decodable { let state, verifier: String }
      let secrets = try JSONDecoder().decode(Kept.self, from: Data(kept.copyBytes()))
      #expect(secrets.state == address.state, "these are the values to search for")
      #expect(!address.fields.values.contains { $0.contains(secrets.verifier) })
      _ = try await Stranger.get("/callback?state=\(address.state)&code=CODE", from: address.port)
      let error = await #expect(throws: WebLoginError.self) { try await ending.value }
      for text in [texts(of: pending), texts(of: session), texts(of: try #require(error))] {
        for secret in [secrets.state, secrets.verifier, "CODE", "/authorize?"] {
          #expect(!text.contains(secret))
        }
      }
    }

    @Test func `contains no error code that a server made up for terminals`() async throws {
      for name in ["\u{1b}[2J", "a\"b", String(repeating: "x", count: 200)] {
        let text = String(decoding: try JSONEncoder().encode(name), as: UTF8.self)
        let client = OAuthClient(
          server: try AuthorizationServer(
            issuer: "https://a.example", authorizationEndpoint: nil,
            tokenEndpoint: "https://a.example/token"), clientID: "app",
          http: ScriptedHTTP { _ in OAuthHTTPResponse(400, "{\"error\": \(text)}") })
        let error = await #expect(throws: WebLoginError.self) {
          try await client.refresh(
            OAuthCredential(accessToken: "a", refreshToken: "r", expirationDate: nil))
        }
        #expect(error?.refusal?.error == "unknown")
      }
    }
  }
}
