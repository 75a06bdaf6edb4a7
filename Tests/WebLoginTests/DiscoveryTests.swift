import Foundation
import OAuthTestSupport
import TestThreads
import Testing
import WebLogin

@Suite struct `a server's metadata` {
  private static func description(
    _ issuer: String, _ more: String = "", token: String = "https://a.example/token"
  ) -> String {
    """
    {"issuer": "\(issuer)", "authorization_endpoint": "https://a.example/authorize",
     "token_endpoint": "\(token)"\(more)}
    """
  }

  private func server(
    _ issuer: String, _ answers: [String: OAuthHTTPResponse]
  ) async throws(WebLoginError) -> AuthorizationServer {
    try await OAuthClient(
      issuer: issuer, clientID: "app",
      http: ScriptedHTTP { request in
        #expect(request.method == "GET" && request.body == nil)
        return answers[request.url.absoluteString] ?? OAuthHTTPResponse(404, "<!doctype html>")
      }
    ).server()
  }

  @Test(arguments: [
    ("https://a.example", "https://a.example/.well-known/oauth-authorization-server"),
    ("https://a.example", "https://a.example/.well-known/openid-configuration"),
    ("https://a.example/", "https://a.example/.well-known/oauth-authorization-server"),
    ("https://a.example/one", "https://a.example/.well-known/oauth-authorization-server/one"),
    ("https://a.example/one", "https://a.example/one/.well-known/openid-configuration"),
    ("https://a.example/one/", "https://a.example/one/.well-known/openid-configuration"),
    ("http://127.0.0.1:8080", "http://127.0.0.1:8080/.well-known/openid-configuration"),
  ])
  func `is found where RFC 8414 and OpenID Connect put it`(
    _ issuer: String, _ place: String
  ) async throws {
    let server = try await server(issuer, [place: OAuthHTTPResponse(200, Self.description(issuer))])
    #expect(server.issuer == issuer)
    #expect(server.tokenEndpoint.absoluteString == "https://a.example/token")
    #expect(server.deviceAuthorizationEndpoint == nil && !server.namesItselfInResponses)
  }

  @Test(
    arguments: [
      // Of another issuer, or the same with a slash.
      (description("https://b.example"), WebLoginError.invalidMetadata),
      (description("https://a.example/"), WebLoginError.invalidMetadata),
      // Secrets would be sent without TLS.
      (
        description("https://a.example", token: "http://a.example/token"),
        WebLoginError.invalidMetadata
      ),
      (
        description("https://a.example", token: "https://u:p@a.example/token"),
        WebLoginError.invalidMetadata
      ),
      (#"{"issuer": "https://a.example"}"#, WebLoginError.invalidMetadata),
      (
        description("https://a.example", #", "code_challenge_methods_supported": ["plain"]"#),
        WebLoginError.unsupported
      ),
      ("{}", WebLoginError.invalidMetadata), ("<html>", WebLoginError.invalidMetadata),
    ] as [(String, WebLoginError.Code)])
  func `is refused if it cannot be trusted`(
    _ text: String, _ code: WebLoginError.Code
  ) async throws {
    let place = "https://a.example/.well-known/oauth-authorization-server"
    let error = await #expect(throws: WebLoginError.self) {
      try await server("https://a.example", [place: OAuthHTTPResponse(200, text)])
    }
    #expect(error?.code == code)
  }

  @Test func `is retried later if the server is busy`() async throws {
    let place = "https://a.example/.well-known/oauth-authorization-server"
    let busy = OAuthHTTPResponse(503, "", ["retry-after": "7"])
    let error = await #expect(throws: WebLoginError.self) {
      try await server("https://a.example", [place: busy])
    }
    #expect(error?.code == .unavailable && error?.retryAfter == .seconds(7))
  }

  @Test(arguments: [
    "http://a.example", "ftp://a.example", "a.example", "", "https://a.example?x",
    "https://u@a.example", "http://127.0.0.1.evil.example", "http://localhost.evil.example",
  ])
  func `is not requested at an invalid address`(_ issuer: String) async throws {
    let error = await #expect(throws: WebLoginError.self) { try await server(issuer, [:]) }
    #expect(error?.code == .invalidConfiguration)
  }

  @Test func `is requested once`() async throws {
    let count = Shared(0)
    let client = OAuthClient(
      issuer: "https://a.example", clientID: "app",
      http: ScriptedHTTP { _ in
        count.update { $0 += 1 }
        return OAuthHTTPResponse(200, Self.description("https://a.example"))
      })
    _ = try await client.server()
    _ = try await client.server()
    #expect(count.now == 1)
  }
}
