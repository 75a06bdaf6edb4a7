import Foundation
import SessionToolsBase

/// A request to the token endpoint, or to another endpoint with the same client authentication.
struct TokenRequest {
  let endpoint: URL
  var fields: [(name: String, value: String)]

  /// Returns the HTTP request (RFC 6749, sections 2.3.1 and 3.2).
  func message(of client: OAuthClient) -> OAuthHTTPRequest {
    var fields = fields
    var headers = [
      "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded",
    ]
    switch client.authentication {
    case .none: fields.append(("client_id", client.clientID))
    case .post(let secret):
      fields += [("client_id", client.clientID), ("client_secret", secret.text)]
    case .basic(let secret):
      let pair = "\(Form.encode(client.clientID)):\(Form.encode(secret.text))"
      headers["Authorization"] = "Basic \(Data(pair.utf8).base64EncodedString())"
    }
    return OAuthHTTPRequest(
      method: "POST", url: endpoint, headers: headers, body: Data(Form.encode(fields).utf8))
  }
}

extension OAuthClient {
  /// Sends a request and returns the answer, unless the answer is a refusal.
  ///
  /// - Throws: `refused`, `unreachable`, `unavailable`, `invalidResponse`, `responseTooLarge` or
  ///   `cancelled`.
  func answer(to request: TokenRequest) async throws(WebLoginError) -> OAuthHTTPResponse {
    let response = try await http.answer(to: request.message(of: self), isAboutLogin: true)
    if let error = WebLoginError(refusalIn: response) { throw error }
    guard response.status == 200 else { throw WebLoginError(invalid: response) }
    return response
  }

  /// Gets tokens.
  ///
  /// - Throws: The errors of ``answer(to:)``.
  func credential(
    for request: TokenRequest, asked scopes: [String], nonce: String? = nil
  ) async throws(WebLoginError) -> OAuthCredential {
    // Taken before the request is sent, so that a slow answer shortens the token's lifetime.
    let sent = clock.now
    let response = try await answer(to: request)
    guard let answer = try? JSONDecoder().decode(TokenResponse.self, from: response.body),
      !answer.accessToken.isEmpty, answer.isBearer
    else { throw WebLoginError(invalid: response) }
    guard !answer.hasTooManyScopes else { throw WebLoginError.tooLarge() }
    return answer.credential(
      sent: sent, serverTime: response["Date"].flatMap(HTTPDate.date), asked: scopes, nonce: nonce)
  }
}

/// A successful answer (RFC 6749, section 5.1).
struct TokenResponse: Decodable {
  let accessToken: String
  private let tokenType: String
  private let lifetime: TimeInterval?
  private let refreshToken: String?
  private let scope: String?
  private let identityToken: String?

  private enum Key: String, CodingKey {
    case access_token, token_type, expires_in, refresh_token, scope, id_token
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    accessToken = try values.decode(String.self, forKey: .access_token)
    tokenType = try values.decode(String.self, forKey: .token_type)
    refreshToken = try values.decodeIfPresent(String.self, forKey: .refresh_token)
    scope = try values.decodeIfPresent(String.self, forKey: .scope)
    identityToken = try values.decodeIfPresent(String.self, forKey: .id_token)
    // Some servers write the number as a text.
    let number = try? values.decodeIfPresent(TimeInterval.self, forKey: .expires_in)
    let text = try? values.decodeIfPresent(String.self, forKey: .expires_in)
    let seconds = number ?? text.flatMap(TimeInterval.init)
    lifetime = seconds.flatMap { $0.isFinite ? min(max(0, $0), 1e9) : nil }
  }

  /// Whether the token is a bearer token: other kinds are sent in ways that this client does not
  /// know.
  var isBearer: Bool { tokenType.lowercased() == "bearer" }

  /// Whether the list of scopes is so long that it would take hundreds of times its size in memory,
  /// in each process that reads it.
  var hasTooManyScopes: Bool { (scope?.utf8.count ?? 0) > 1 << 14 }

  func credential(
    sent: Date, serverTime: Date?, asked scopes: [String], nonce: String?
  ) -> OAuthCredential {
    OAuthCredential(
      accessToken: accessToken, refreshToken: refreshToken, tokenType: tokenType,
      scopes: scope?.split(separator: " ").map(String.init) ?? scopes,
      identityToken: identityToken, nonce: nonce,
      serverExpirationDate: lifetime.map { (serverTime ?? sent) + $0 },
      serverIssueDate: serverTime ?? sent,
      serverClockLead: serverTime?.timeIntervalSince(sent) ?? 0)
  }
}
