public import Foundation
public import SessionToolsBase

/// The result of a login: tokens, their expiration and their scopes.
///
/// It is an item for a `Session`, or a part of your own item. It expires, and
/// ``OAuthClient/refresher(policy:)`` refreshes it. Descriptions, dumps and mirrors show when it
/// expires, and no token.
public struct OAuthCredential: Codable, Hashable, ExpiringItem, Sendable {
  /// The token to send with requests, in the field `Authorization: Bearer …`.
  public let accessToken: String
  /// The token for getting new access tokens; `nil` when the server gives none.
  public let refreshToken: String?
  /// The kind of access token, as the server writes it: `Bearer`, in any case of letters.
  public let tokenType: String
  /// The scopes of the access token, as the server reports them, or else as they were asked for.
  public let scopes: [String]
  /// The identity token of OpenID Connect, as received.
  ///
  /// ``identity`` has its contents, if they were checked. Another program that gets the token must
  /// verify its signature; `vapor/jwt-kit` does.
  public let identityToken: String?
  /// The `nonce` that the identity token must contain; `nil` when none was asked for.
  public let nonce: String?
  /// Whether the identity token was checked when it was received; `nil` for a credential of an
  /// older version of this library.
  let isIdentityVerified: Bool?
  /// When the access token expires by the clock of the server; `nil` when the server did not say.
  ///
  /// It is the `Date` of the server's answer plus its `expires_in`.
  public let serverExpirationDate: Date?
  /// When the credential was issued by the clock of the server, or of this machine where the server
  /// sent no time; `nil` for a credential of an older version of this library, or from elsewhere.
  let serverIssueDate: Date?
  /// How far the server's clock was ahead of this machine's when the credential was issued, in
  /// seconds; 0 when the server sent no time.
  public let serverClockLead: TimeInterval

  /// When the access token expires by the clock of this machine, as it was set when the credential
  /// was issued; `nil` when the server did not say.
  ///
  /// It is ``serverExpirationDate`` less ``serverClockLead``. A machine whose clock is wrong by
  /// hours, but runs, refreshes in time, in any process and after a restart. The lifetime counts
  /// from when the request was sent, so a slow network makes it end earlier and never later.
  public var expirationDate: Date? { serverExpirationDate.map { $0 - serverClockLead } }

  /// When the credential was issued, by the same clock as ``expirationDate``; `nil` when unknown.
  ///
  /// A token with a lifetime of less than two minutes is refreshed after half of it, instead of a
  /// minute before its end.
  public var issueDate: Date? { serverIssueDate.map { $0 - serverClockLead } }

  /// How long the access token was to be valid, in seconds; `nil` when unknown.
  var lifetime: TimeInterval? {
    guard let end = serverExpirationDate, let start = serverIssueDate, end > start else {
      return nil
    }
    return end.timeIntervalSince(start)
  }

  /// Who logged in; `nil` for a login without the scope `openid`, and for a credential of an older
  /// version of this library until the next login.
  ///
  /// It is read from ``identityToken``, which was checked when it was received, at each call.
  public var identity: VerifiedIdentity? {
    // Anything but a token that was readable then is not one that was checked.
    guard isIdentityVerified == true, let identityToken,
      let token = try? IdentityToken(identityToken)
    else { return nil }
    return VerifiedIdentity(token)
  }

  /// Makes a credential of tokens from elsewhere, such as an older version of a program.
  ///
  /// - Parameters:
  ///   - accessToken: The token to send with requests.
  ///   - refreshToken: The token for getting new access tokens.
  ///   - expirationDate: When the access token expires, by the clock of this machine.
  ///   - scopes: The scopes of the access token.
  public init(
    accessToken: String, refreshToken: String?, expirationDate: Date?, scopes: [String] = []
  ) {
    self.init(
      accessToken: accessToken, refreshToken: refreshToken, tokenType: "Bearer", scopes: scopes,
      identityToken: nil, nonce: nil, isIdentityVerified: false,
      serverExpirationDate: expirationDate, serverIssueDate: nil, serverClockLead: 0)
  }

  init(
    accessToken: String, refreshToken: String?, tokenType: String, scopes: [String],
    identityToken: String?, nonce: String?, isIdentityVerified: Bool?, serverExpirationDate: Date?,
    serverIssueDate: Date?, serverClockLead: TimeInterval
  ) {
    self.accessToken = accessToken
    self.refreshToken = refreshToken
    self.tokenType = tokenType
    self.scopes = scopes
    self.identityToken = identityToken
    self.nonce = nonce
    self.isIdentityVerified = isIdentityVerified
    self.serverExpirationDate = serverExpirationDate
    self.serverIssueDate = serverIssueDate
    self.serverClockLead = serverClockLead
  }

  /// Returns the same credential with another refresh token.
  func with(refreshToken: String) -> OAuthCredential {
    OAuthCredential(
      accessToken: accessToken, refreshToken: refreshToken, tokenType: tokenType, scopes: scopes,
      identityToken: identityToken, nonce: nonce, isIdentityVerified: isIdentityVerified,
      serverExpirationDate: serverExpirationDate, serverIssueDate: serverIssueDate,
      serverClockLead: serverClockLead)
  }
}

extension OAuthCredential: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// A redacted description: when it expires, and no token.
  public var description: String {
    let end = expirationDate.map { "valid until \($0.ISO8601Format())" } ?? "without expiration"
    return "[credential \(end), \(refreshToken == nil ? "not refreshable" : "refreshable")]"
  }

  /// A redacted description: when it expires, and no token.
  public var debugDescription: String { description }

  /// No children, so that a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
