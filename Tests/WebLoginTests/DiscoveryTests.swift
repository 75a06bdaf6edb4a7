import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsTestThreads
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
    ("https://a.example/one", "https://a.example/one/.well-known/oauth-authorization-server"),
    ("https://a.example/one", "https://a.example/.well-known/openid-configuration/one"),
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
      (
        description("").replacing(#""issuer": "","#, with: ""), WebLoginError.invalidMetadata
      ),
      ("{}", WebLoginError.noMetadata), ("<html>", WebLoginError.noMetadata),
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

  /// One place says nothing about another.
  @Test(
    arguments: [
      OAuthHTTPResponse(500), OAuthHTTPResponse(502, "<html>"), OAuthHTTPResponse(503),
      OAuthHTTPResponse(429), OAuthHTTPResponse(400), OAuthHTTPResponse(401),
      OAuthHTTPResponse(403, #"{"message": "Forbidden"}"#), OAuthHTTPResponse(302),
      OAuthHTTPResponse(200, "<html>"), OAuthHTTPResponse(200, "{}"), OAuthHTTPResponse(204),
      OAuthHTTPResponse(200, #"{"error": "not_found"}"#),
      OAuthHTTPResponse(200, description("https://b.example")),
      OAuthHTTPResponse(200, #"{"issuer": "https://a.example/one"}"#),
    ], [0, 1, 2])
  func `is found although other places answer anything`(
    _ other: OAuthHTTPResponse, _ position: Int
  ) async throws {
    let issuer = "https://a.example/one"
    let places = [
      "https://a.example/.well-known/oauth-authorization-server/one",
      "https://a.example/one/.well-known/openid-configuration",
      "https://a.example/one/.well-known/oauth-authorization-server",
    ]
    var answers = Dictionary(uniqueKeysWithValues: places.map { ($0, other) })
    answers[places[position]] = OAuthHTTPResponse(200, Self.description(issuer))
    #expect(try await server(issuer, answers).issuer == issuer)
  }

  @Test func `is found although another place does not answer in time`() async throws {
    let client = OAuthClient(
      issuer: "https://a.example", clientID: "app",
      http: ScriptedHTTP { request in
        guard request.url.path().hasSuffix("openid-configuration") else {
          throw OAuthHTTPError(.timedOut, reason: "too late")
        }
        return OAuthHTTPResponse(200, Self.description("https://a.example"))
      })
    #expect(try await client.server().issuer == "https://a.example")
  }

  @Test(arguments: [OAuthHTTPError.nameNotFound, .untrusted, .proxyRefused, .noResponse])
  func `is requested once where no other place can answer`(
    _ code: OAuthHTTPError.Code
  ) async throws {
    let count = Shared(0)
    let client = OAuthClient(
      issuer: "https://a.example/one", clientID: "app",
      http: ScriptedHTTP { _ in
        count.update { $0 += 1 }
        throw OAuthHTTPError(code, wasSent: false, reason: "there is no connection")
      })
    await #expect(throws: WebLoginError.self) { try await client.server() }
    #expect(count.now == 1)
  }

  @Test(
    arguments: [
      (
        "https://login.example/common/v2.0", "https://login.example/{tenantid}/v2.0",
        ["another one, https://login.example/{tenantid}/v2.0", "tenants", "{tenantid}"]
      ),
      ("https://a.example", "https://a.example/", ["https://a.example/. If", "byte for byte"]),
      ("https://a.example/", "https://a.example", ["issuer https://a.example/ names"]),
      ("https://a.example", "https://a.example/\u{1b}[2J", ["https://a.example/?[2J"]),
    ] as [(String, String, [String])])
  func `of another issuer shows both`(
    _ issuer: String, _ named: String, _ texts: [String]
  ) async throws {
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    let name = String(decoding: try JSONEncoder().encode(named), as: UTF8.self)
      .dropFirst().dropLast()
    let error = await #expect(throws: WebLoginError.self) {
      try await server(
        issuer,
        [
          "\(base)/.well-known/openid-configuration": OAuthHTTPResponse(
            200, Self.description(String(name)))
        ])
    }
    let text = "\(try #require(error))"
    for part in texts { #expect(text.contains(part), "\(text)") }
  }

  @Test func `that is nowhere is reported with what was answered`() async throws {
    let error = await #expect(throws: WebLoginError.self) {
      try await server(
        "https://a.example",
        ["https://a.example/.well-known/openid-configuration": OAuthHTTPResponse(302)])
    }
    #expect(error?.code == .noMetadata)
    #expect(error?.reason.contains("status 404, 302 to another address") ?? false)
  }

  @Test(
    arguments: [
      (#", "authorization_response_iss_parameter_supported": "true""#, true),
      (#", "authorization_response_iss_parameter_supported": null"#, false),
      (#", "revocation_endpoint": null, "device_authorization_endpoint": """#, false),
      (#", "revocation_endpoint": "http://a.example/plain""#, false),
      (#", "revocation_endpoint": "/relative", "jwks_uri": 5"#, false),
      (#", "token_endpoint ": "\t""#, false),
      (#", "code_challenge_methods_supported": null"#, false),
      (#", "code_challenge_methods_supported": "S256""#, false),
    ] as [(String, Bool)])
  func `is usable whatever fields it has that are not needed`(
    _ more: String, _ namesItself: Bool
  ) async throws {
    let place = "https://a.example/.well-known/oauth-authorization-server"
    let server = try await server(
      "https://a.example",
      [place: OAuthHTTPResponse(200, Self.description("https://a.example", more))])
    #expect(server.namesItselfInResponses == namesItself)
    #expect(server.revocationEndpoint == nil && server.deviceAuthorizationEndpoint == nil)
  }

  @Test(arguments: [
    "http://a.example", "ftp://a.example", "a.example", "", "https://a.example?x",
    "https://u@a.example", "https://a.example:70000", "https://a.example:0",
    "https://a.example/.well-known/openid-configuration",
    "https://a.example/one/.well-known/oauth-authorization-server", "http://127.0.0.1.evil.example",
    "http://localhost.evil.example",
  ])
  func `is not requested at an invalid address`(_ issuer: String) async throws {
    let error = await #expect(throws: WebLoginError.self) { try await server(issuer, [:]) }
    #expect(error?.code == .invalidConfiguration)
  }

  @Test func `is requested once, however many tasks need it and whichever of them end`()
    async throws
  {
    let (asked, opened) = (Shared(0), AsyncStream.makeStream(of: Void.self))
    let client = OAuthClient(
      issuer: "https://a.example", clientID: "app",
      http: ScriptedHTTP { _ in
        asked.update { $0 += 1 }
        for await _ in opened.stream {}
        return OAuthHTTPResponse(200, Self.description("https://a.example"))
      })
    let tasks = (0..<50).map { _ in Task { try await client.server().issuer } }
    // The first that asked need not be this one; each may end.
    for task in tasks.prefix(10) {
      task.cancel()
      let error = await #expect(throws: WebLoginError.self) { try await task.value }
      #expect(error?.code == .cancelled)
    }
    opened.continuation.finish()
    for task in tasks.dropFirst(10) { #expect(try await task.value == "https://a.example") }
    _ = try await client.server()
    #expect(asked.now == 1)
  }

  @Test func `that many tasks wait for and that fails is an error for all of them`() async throws {
    let (asked, opened) = (Shared(0), AsyncStream.makeStream(of: Void.self))
    let client = OAuthClient(
      issuer: "https://a.example", clientID: "app",
      http: ScriptedHTTP { _ in
        asked.update { $0 += 1 }
        for await _ in opened.stream {}
        throw OAuthHTTPError(.noResponse, wasSent: false, reason: "down")
      })
    let tasks = (0..<20).map { _ in Task { try await client.server() } }
    while asked.now == 0 { await Task.yield() }
    let late = Task { try await client.server() }
    late.cancel()
    await #expect(throws: WebLoginError.self) { try await late.value }
    opened.continuation.finish()
    for task in tasks { await #expect(throws: WebLoginError.self) { try await task.value } }
  }

  @Test func `is requested again after an error`() async throws {
    let asked = Shared(0)
    let client = OAuthClient(
      issuer: "https://a.example", clientID: "app",
      http: ScriptedHTTP { _ in
        let isFirst = asked.update { count in
          count += 1
          return count == 1
        }
        if isFirst { throw OAuthHTTPError(.noResponse, wasSent: false, reason: "down") }
        return OAuthHTTPResponse(200, Self.description("https://a.example"))
      })
    await #expect(throws: WebLoginError.self) { try await client.server() }
    #expect(try await client.server().issuer == "https://a.example")
    #expect(asked.now == 2)
  }
}
