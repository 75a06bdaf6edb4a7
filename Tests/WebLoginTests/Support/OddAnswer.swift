import Foundation
import Testing
import WebLogin

/// An answer of a token endpoint, and what must come of it in each kind of request.
struct OddAnswer: Sendable, CustomTestStringConvertible {
  /// What is stored.
  struct Tokens: Equatable, Sendable {
    let access: String
    let refresh: String?

    static func of(_ credential: OAuthCredential?) -> Tokens? {
      credential.map { Tokens(access: $0.accessToken, refresh: $0.refreshToken) }
    }
  }

  let testDescription: String
  let status: Int
  let body: String
  /// What a login stores; `nil` if it is refused, with ``loginError``.
  let login: Tokens?
  let loginError: WebLoginError.Code?
  /// What a refresh of `old` and `RT1` leaves stored; `nil` if the person is signed out.
  let refreshed: Tokens?
  /// The error that the refresh has; `nil` if the new token is given out.
  let refreshError: WebLoginError.Code?
  /// The error of a revocation that is answered so.
  let revocationError: WebLoginError.Code?

  init(
    _ name: String, _ body: String, status: Int = 200, login: Tokens? = nil,
    refused loginError: WebLoginError.Code? = nil, refreshed: Tokens?,
    failing refreshError: WebLoginError.Code? = nil, revoking: WebLoginError.Code? = nil
  ) {
    testDescription = name
    (self.status, self.body) = (status, body)
    (self.login, self.loginError) = (login, loginError)
    (self.refreshed, self.refreshError, revocationError) = (refreshed, refreshError, revoking)
  }

  var response: OAuthHTTPResponse { OAuthHTTPResponse(status, body) }

  // MARK: - The table

  private static let both = Tokens(access: "new", refresh: "RT2")

  /// Answers from which everything that is needed is kept.
  private static func kept(
    _ name: String, _ body: String, status: Int = 200, login: Tokens? = both,
    refreshed: Tokens = both, revoking: WebLoginError.Code? = nil
  ) -> OddAnswer {
    OddAnswer(
      name, body, status: status, login: login, refreshed: refreshed, revoking: revoking)
  }

  /// Answers with a field beside the two tokens.
  private static func beside(_ field: String) -> OddAnswer {
    kept("beside \(field)", "{\(pair), \(field)}")
  }

  private static let pair = #""access_token": "new", "refresh_token": "RT2""#
  private static let unrotated = Tokens(access: "new", refresh: "RT1")
  private static let withoutRefresh = Tokens(access: "new", refresh: nil)
  /// The old access token, and the new refresh token.
  private static let halved = Tokens(access: "old", refresh: "RT2")
  private static let untouched = Tokens(access: "old", refresh: "RT1")

  private static func notRotated(_ token: String) -> OddAnswer {
    kept(
      "refresh_token is \(token)", #"{"access_token": "new", "refresh_token": \#(token)}"#,
      login: withoutRefresh, refreshed: unrotated)
  }

  /// Answers without an access token that a request can be sent with.
  private static func halved(_ name: String, _ body: String) -> OddAnswer {
    OddAnswer(
      name, body, refused: .incompleteResponse, refreshed: halved, failing: .incompleteResponse)
  }

  private static func unread(
    _ name: String, _ body: String, status: Int = 200,
    _ code: WebLoginError.Code = .invalidResponse
  ) -> OddAnswer {
    OddAnswer(name, body, status: status, refused: code, refreshed: untouched, failing: code)
  }

  private static func refusal(
    _ name: String, _ body: String, status: Int = 400, _ code: WebLoginError.Code = .refused,
    refreshed: Tokens? = untouched
  ) -> OddAnswer {
    // A token that the server does not accept needs no revocation.
    let isRevoked = (200..<300).contains(status) || refreshed == nil
    return OddAnswer(
      name, body, status: status, refused: code, refreshed: refreshed, failing: code,
      revoking: isRevoked ? nil : code)
  }

  private static let deep =
    String(repeating: "[", count: 600) + String(repeating: "]", count: 600)
  private static let manyScopes = Array(repeating: "a", count: 9000)

  static let all: [OddAnswer] =
    [
      #""token_type": "Bearer""#, #""token_type": "bearer""#, #""token_type": " BEARER ""#,
      #""token_type": "BearerToken""#, #""token_type": """#, #""token_type": null"#,
      #""token_type": 1"#, #""token_type": ["Bearer"]"#, #""more": {"deep": [1]}"#,
      #""scope": null"#, #""scope": """#, #""scope": ["a", "b"]"#, #""scope": [1, null]"#,
      #""scope": {"a": true}"#, #""scope": 5"#, #""id_token": """#, #""id_token": null"#,
      #""id_token": {}"#, #""expires_in": "3600""#, #""expires_in": """#, #""expires_in": null"#,
      #""expires_in": "soon""#, #""expires_in": {}"#, #""expires_in": 1e999"#,
      #""expires_in": 3600.5"#, #""expires_in": true"#, #""expires_in": 0"#, #""expires_in": -1"#,
      #""error": null"#, #""error": """#,
      #""error": 0"#, #""error": false"#, #""error": {}"#, #""error": "none""#,
      #""error_description": """#,
    ].map(beside)
    + [#""""#, #"" \t""#, "null", "5", "false", "{}", "[\"RT2\"]"].map(notRotated)
    + [
      kept("nothing but the two tokens", "{\(pair)}"),
      kept(
        "no refresh token", #"{"access_token": "new"}"#, login: withoutRefresh,
        refreshed: unrotated),
      kept("status 201", "{\(pair)}", status: 201), kept("status 202", "{\(pair)}", status: 202),
      kept("status 203", "{\(pair)}", status: 203), kept("status 299", "{\(pair)}", status: 299),
      kept("a byte order mark in front", "\u{FEFF}{\(pair)}"),
      kept("lines around it", "\r\n\n {\(pair)}\r\n"),
      kept("a form", "access_token=new&refresh_token=RT2&token_type=bearer&expires_in=60\n"),
      kept("a form with names twice", "access_token=new&refresh_token=RT2&scope=a&scope=b"),
      kept(
        "a form with bytes that cannot be read",
        "name=100%&access_token=new&refresh_token=RT2&city=K%F6ln"),
      kept("status 302", "{\(pair)}", status: 302, revoking: .incompleteResponse),
      kept("status 400", "{\(pair)}", status: 400, revoking: .incompleteResponse),
      kept("status 500", "{\(pair)}", status: 500, revoking: .unavailable),
      kept("an answer cut off behind the tokens", "{\(pair), \"sco"),
      kept("a list of one answer", "[{\(pair)}]"),
      kept("two answers", "{\(pair)}{\"refresh_token\": \"no\"}"),
      kept("a warning in front", "<b>Notice</b>: no { or {} in x.php\n{\(pair)}"),
      kept("a comment behind", "{\(pair)}\n<!-- a.example -->"),
      kept("a NUL behind", "{\(pair)}\0"), kept("a call of a function", "done({\(pair)});"),
      kept("a number that JSON does not have", "{\(pair), \"expires_in\": NaN}"),
      kept("a number with a sign", "{\"expires_in\": +3600, \(pair)}"),
      kept("a value too deep", "{\"a\": \(deep), \(pair)}"),
      kept(
        "tokens of others in what is no JSON",
        #"{"n": NaN, "a": {"refresh_token": "no"}, "b": ["refresh_token", "no"], "#
          + #""c": "\"refresh_token\": \"no\"", \#(pair)}"#),
      OddAnswer(
        "a token that is no bearer token", #"{\#(pair), "token_type": "DPoP"}"#,
        refused: .unsupported, refreshed: both),
      OddAnswer(
        "too many scopes", #"{\#(pair), "scope": "\#(manyScopes.joined(separator: " "))"}"#,
        refused: .responseTooLarge, refreshed: both),
      OddAnswer(
        "too many scopes in a list",
        #"{\#(pair), "scope": ["\#(manyScopes.joined(separator: #"",""#))"]}"#,
        refused: .responseTooLarge, refreshed: both),
      halved("an access_token cut off", #"{"refresh_token": "RT2", "access_token": "ne"#),
      halved("a form without an access_token", "refresh_token=RT2&token_type=bearer"),
      halved("no access_token", #"{"refresh_token": "RT2", "token_type": "Bearer"}"#),
      halved("an empty access_token", #"{"access_token": "", "refresh_token": "RT2"}"#),
      halved("access_token is null", #"{"access_token": null, "refresh_token": "RT2"}"#),
      halved("access_token is a number", #"{"access_token": 5, "refresh_token": "RT2"}"#),
      halved(
        "a line in the access_token", #"{"access_token": "n\r\nx: y", "refresh_token": "RT2"}"#),
      halved("a NUL in the access_token", #"{"access_token": "n\u0000", "refresh_token": "RT2"}"#),
      halved("an access_token in Cyrillic", #"{"access_token": "ж", "refresh_token": "RT2"}"#),
      unread("an empty object", "{}", .incompleteResponse),
      unread("a list", "[\(1), 2]", .incompleteResponse),
      unread("a text", "\"new\"", .incompleteResponse),
      unread("a web page", "<html>Welcome to the hotel</html>"), unread("nothing", ""),
      unread("status 204", "", status: 204),
      unread("an answer cut off in its first token", #"{"access_token": "ne"#),
      refusal("GitHub's refusal", #"{"error": "bad_refresh_token"}"#, status: 200),
      refusal("a refusal as a form", "error=bad_refresh_token&error_uri=x", status: 200),
      refusal(
        "a refusal with a description that is no text",
        #"{"error": "invalid_scope", "error_description": {"en": "no"}}"#),
      refusal("an unknown refusal", #"{"error": "{}"}"#),
      refusal(
        "a rejection", #"{"error": "invalid_grant", "error_description": 7}"#, refreshed: nil),
      refusal(
        "a rejection as a success", #"{"error": "invalid_grant"}"#, status: 200, refreshed: nil),
      refusal("Supabase's refusal", #"{"code": 400, "error_code": "refresh_token_not_found"}"#),
      refusal("no reason", "", status: 401, .incompleteResponse),
      refusal("a missing page", "<html>", status: 404, .missingEndpoint),
      refusal("an address that moved", "<html>", status: 308, .missingEndpoint),
      refusal("an error of another form", #"{"error": {"code": 400}}"#, .incompleteResponse),
      refusal("a message", #"{"message": "Forbidden"}"#, status: 403, .incompleteResponse),
    ]
}
