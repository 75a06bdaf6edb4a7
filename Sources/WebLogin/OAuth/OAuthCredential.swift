public import Foundation
public import SessionToolsBase

/// What a login gives: tokens, until when they are good, and for what.
///
/// An item for a `Session`, as it is or as a part of one of your own. It expires, and
/// ``OAuthClient/refresher(policy:)`` refreshes it. Descriptions, dumps and mirrors show when it
/// expires, and no token.
public struct OAuthCredential: Codable, Hashable, Expiring, Sendable {
  /// What requests are sent with, in the field `Authorization: Bearer …`.
  public let accessToken: String
  /// What new access tokens are got with; `nil` when the server gives none.
  public let refreshToken: String?
  /// The kind of access token, as the server writes it; `Bearer`, in any case of letters.
  public let tokenType: String
  /// What the access token may be used for; as the server says, or as it was asked.
  public let scopes: [String]
  /// The identity token of OpenID Connect, as it was given: not verified.
  ///
  /// A program that acts on what it says verifies its signature, `iss`, `aud`, `exp` and ``nonce``
  /// first; `vapor/jwt-kit` does. Who only needs to know that its content comes from the token
  /// endpoint may go without (OpenID Connect Core, section 3.1.3.7, point 6).
  public let identityToken: String?
  /// What the identity token has to have as its `nonce`; `nil` when none was asked for.
  public let nonce: String?
  /// When the access token stops being good by the clock of the server: the `Date` of its answer, and
  /// the `expires_in` that it gave; `nil` when it said nothing of it.
  public let serverExpirationDate: Date?
  /// When the credential was issued by the clock of the server, or of this machine where the server told
  /// no time; `nil` for one of an older version of this library, or from elsewhere.
  let serverIssueDate: Date?
  /// How far the server's clock was ahead of this machine's when the credential was issued, in
  /// seconds; 0 when the server told no time.
  public let serverClockLead: TimeInterval

  /// When the access token stops being good by the clock of this machine, as it was set when the
  /// credential was issued; `nil` when the server said nothing of it.
  ///
  /// It is ``serverExpirationDate`` less ``serverClockLead``. A machine whose clock is wrong by hours,
  /// but goes, refreshes in time, in any process and after a restart. The lifetime counts from when
  /// the request was sent, so that a slow network makes it end earlier and never later.
  public var expirationDate: Date? { serverExpirationDate.map { $0 - serverClockLead } }

  /// When the credential was issued, by the same clock as ``expirationDate``; `nil` when that is not
  /// known.
  ///
  /// A token that lasts less than two minutes is refreshed when half of its time is over, and not a
  /// minute before its end as others are.
  public var issueDate: Date? { serverIssueDate.map { $0 - serverClockLead } }

  /// Makes a credential of tokens from elsewhere, such as an older version of a program.
  ///
  /// - Parameters:
  ///   - accessToken: What requests are sent with.
  ///   - refreshToken: What new ones are got with.
  ///   - expirationDate: Until when the access token is good, by the clock of this machine.
  ///   - scopes: What it may be used for.
  public init(
    accessToken: String, refreshToken: String?, expirationDate: Date?, scopes: [String] = []
  ) {
    self.init(
      accessToken: accessToken, refreshToken: refreshToken, tokenType: "Bearer", scopes: scopes,
      identityToken: nil, nonce: nil, serverExpirationDate: expirationDate, serverIssueDate: nil,
      serverClockLead: 0)
  }

  init(
    accessToken: String, refreshToken: String?, tokenType: String, scopes: [String],
    identityToken: String?, nonce: String?, serverExpirationDate: Date?, serverIssueDate: Date?,
    serverClockLead: TimeInterval
  ) {
    self.accessToken = accessToken
    self.refreshToken = refreshToken
    self.tokenType = tokenType
    self.scopes = scopes
    self.identityToken = identityToken
    self.nonce = nonce
    self.serverExpirationDate = serverExpirationDate
    self.serverIssueDate = serverIssueDate
    self.serverClockLead = serverClockLead
  }
}

extension OAuthCredential: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// When it expires, and no token.
  public var description: String {
    let end = expirationDate.map { "good until \($0.ISO8601Format())" } ?? "good for ever"
    return "[credential \(end), \(refreshToken == nil ? "not to be refreshed" : "refreshable")]"
  }

  /// When it expires, and no token.
  public var debugDescription: String { description }

  /// No children: a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
