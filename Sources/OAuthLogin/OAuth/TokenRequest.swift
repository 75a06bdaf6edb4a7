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
  /// Sends a request and returns the answer, whose status is a success.
  ///
  /// - Throws: `refused`, `unavailable`, `invalidResponse`, `incompleteResponse`, or the errors of
  ///   sending the request.
  func answer(to request: TokenRequest) async throws(WebLoginError) -> ServerAnswer {
    let answer = try await http.answer(to: request.message(of: self), isAboutLogin: true)
    guard answer.isSuccess else { throw answer.failure }
    return answer
  }

  /// Requests tokens.
  ///
  /// - Throws: The errors of ``answer(to:)``.
  func tokens(for request: TokenRequest) async throws(WebLoginError) -> ReceivedTokens {
    // Taken before the request is sent, so that a slow answer shortens the token's lifetime.
    let sent = clock.now
    let answer = try await http.answer(to: request.message(of: self), isAboutLogin: true)
    let hasToken = answer.fields?.text("access_token") != nil
    // Tokens are kept whatever the status is, because what was sent for them is spent.
    guard answer.isSuccess || hasToken && answer.refusal == nil else { throw answer.failure }
    guard let fields = answer.fields else { throw answer.invalid }
    if !hasToken, let refusal = answer.refusal { throw refusal }
    return ReceivedTokens(fields, in: answer, sent: sent)
  }

  /// Requests the tokens of a login; what cannot be used is refused here, where nothing is lost.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - scopes: The scopes that were asked for; with `openid` there must be an identity token.
  ///   - nonce: The nonce that was sent, if any.
  ///   - authenticatedAfter: The earliest time at which the person may have authenticated, by this
  ///     machine's clock, if the login limits it.
  /// - Returns: The credential.
  /// - Throws: `unsupported` for a token that is not a bearer token, or an identity token that is
  ///   encrypted, or the errors of ``tokens(for:)``.
  func credential(
    for request: TokenRequest, asked scopes: [String], nonce: String? = nil,
    authenticatedAfter: Date? = nil
  ) async throws(WebLoginError) -> OAuthCredential {
    let tokens = try await tokens(for: request)
    guard tokens.isBearer else {
      throw WebLoginError(
        .unsupported,
        "\(tokens.answer.server) issues tokens of the kind \(PlainText.shown(tokens.type)), which "
          + "are sent in ways that are not known here",
        remedy: "Make the server issue bearer tokens to this client")
    }
    guard !tokens.hasTooManyScopes else { throw .tooLarge(tokens.answer.server) }
    let asksForIdentity = scopes.askForIdentity
    guard
      let credential = tokens.credential(
        asked: scopes, nonce: nonce, isIdentityVerified: asksForIdentity)
    else { throw tokens.withoutAccessToken }
    if asksForIdentity {
      try tokens.checkIdentity(for: self, nonce: nonce, authenticatedAfter: authenticatedAfter)
    }
    return credential
  }

  /// Exchanges the code that the browser brought back (RFC 6749, section 4.1.3; RFC 7636, section
  /// 4.5).
  ///
  /// - Throws: The errors of ``credential(for:asked:nonce:authenticatedAfter:)``.
  func credential(
    exchanging code: SecretBytes, at endpoint: URL, redirectAddress: String, verifier: String,
    asked scopes: [String], nonce: String?, authenticatedAfter: Date?
  ) async throws(WebLoginError) -> OAuthCredential {
    let request = TokenRequest(
      endpoint: endpoint,
      fields: [
        ("grant_type", "authorization_code"), ("code", code.text),
        ("redirect_uri", redirectAddress), ("code_verifier", verifier),
      ] + resourceFields)
    return try await credential(
      for: request, asked: scopes, nonce: nonce, authenticatedAfter: authenticatedAfter)
  }
}
