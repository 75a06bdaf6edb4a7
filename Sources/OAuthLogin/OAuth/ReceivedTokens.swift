import Foundation

/// The tokens of a successful answer (RFC 6749, section 5.1).
struct ReceivedTokens {
  let answer: ServerAnswer
  /// The access token; `nil` without one that a request can be sent with.
  let accessToken: String?
  let refreshToken: String?
  /// The kind of access token, `Bearer` if the server does not say.
  let type: String
  let identityToken: String?
  private let hasAccessToken: Bool
  private let scopes: [String]?
  /// In seconds, as the server gave it.
  private let lifetime: TimeInterval?
  private let sent: Date

  /// - Parameters:
  ///   - fields: The fields of the answer.
  ///   - answer: The answer.
  ///   - sent: When the request was sent.
  init(_ fields: AnswerFields, in answer: ServerAnswer, sent: Date) {
    self.answer = answer
    self.sent = sent
    let token = fields.text("access_token")
    hasAccessToken = token != nil
    // RFC 6749, section A.12; a control character could end a header field.
    accessToken = token.flatMap { token in
      token.utf8.allSatisfy { (0x20...0x7E).contains($0) } ? token : nil
    }
    refreshToken = fields.text("refresh_token")
    type = fields.text("token_type")?.trimmingCharacters(in: .whitespaces) ?? "Bearer"
    identityToken = fields.text("id_token")
    scopes = fields.texts("scope")?.flatMap { $0.split(separator: " ").map(String.init) }
    lifetime = fields.number("expires_in").map { min($0, 1e9) }
  }

  /// Whether the token is a bearer token; Apigee's servers write `BearerToken`.
  var isBearer: Bool { ["bearer", "bearertoken"].contains(type.lowercased()) }

  /// The largest size of all scopes in bytes: more would take hundreds of times its size in memory,
  /// in each process that reads it.
  private static let maximumScopeByteCount = 1 << 14

  /// Whether the list of scopes is too long to be stored whole.
  var hasTooManyScopes: Bool {
    (scopes ?? []).reduce(0) { $0 + $1.utf8.count + 1 } > Self.maximumScopeByteCount
  }

  /// The error of an answer that has no usable access token.
  var withoutAccessToken: WebLoginError {
    answer.incomplete(
      hasAccessToken
        ? "has an access_token with characters that no request can contain" : "has no access_token")
  }

  /// When the tokens were issued by the clock of the server, or of this machine where the server
  /// sent no time.
  var issueDate: Date { answer.date ?? sent }

  /// How far the server's clock is ahead of this machine's, in seconds; 0 when it sent no time.
  var serverClockLead: TimeInterval { answer.date?.timeIntervalSince(sent) ?? 0 }

  /// Returns the credential of a login; `nil` without a usable access token.
  ///
  /// - Parameters:
  ///   - scopes: The scopes that were asked for.
  ///   - nonce: The nonce that was asked for.
  ///   - isIdentityVerified: Whether the identity token was checked.
  /// - Returns: The credential.
  func credential(
    asked scopes: [String], nonce: String?, isIdentityVerified: Bool
  ) -> OAuthCredential? {
    guard let accessToken else { return nil }
    return credential(
      accessToken, refreshToken: refreshToken, identityToken: identityToken, asked: scopes,
      nonce: nonce, isIdentityVerified: isIdentityVerified)
  }

  /// Returns what replaces a credential that was refreshed; `nil` without a usable access token.
  ///
  /// - Parameters:
  ///   - old: The credential.
  ///   - identityToken: The identity token to keep, which is checked if that of the old one is.
  /// - Returns: The new credential.
  func credential(refreshing old: OAuthCredential, identityToken: String?) -> OAuthCredential? {
    guard let accessToken else { return nil }
    return credential(
      accessToken, refreshToken: refreshToken ?? old.refreshToken, identityToken: identityToken,
      asked: old.scopes, nonce: old.nonce, isIdentityVerified: old.identity != nil,
      usualLifetime: old.lifetime)
  }

  private func credential(
    _ accessToken: String, refreshToken: String?, identityToken: String?, asked: [String],
    nonce: String?, isIdentityVerified: Bool, usualLifetime: TimeInterval? = nil
  ) -> OAuthCredential {
    // Some servers give the lifetime only with the first token.
    let lifetime = usableLifetime(isRefreshable: refreshToken != nil) ?? usualLifetime
    return OAuthCredential(
      accessToken: accessToken, refreshToken: refreshToken, tokenType: type,
      scopes: scopes.map(Self.shortened) ?? asked, identityToken: identityToken, nonce: nonce,
      isIdentityVerified: isIdentityVerified,
      serverExpirationDate: lifetime.map { issueDate + $0 }, serverIssueDate: issueDate,
      serverClockLead: serverClockLead)
  }

  /// Returns the lifetime to count with.
  ///
  /// Servers write 0 or -1 for a token without an end. If it can be refreshed, 0 may mean that it
  /// has ended, so it is refreshed once a minute: after half of this lifetime.
  private func usableLifetime(isRefreshable: Bool) -> TimeInterval? {
    guard let lifetime, lifetime <= 0 else { return lifetime }
    return isRefreshable ? 120 : nil
  }

  private static func shortened(_ scopes: [String]) -> [String] {
    var rest = maximumScopeByteCount
    return Array(
      scopes.prefix { scope in
        rest -= scope.utf8.count + 1
        return rest >= 0
      })
  }
}
