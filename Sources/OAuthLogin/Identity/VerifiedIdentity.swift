public import Foundation

/// Who logged in, as the login server says in an identity token (OpenID Connect Core, section 2).
///
/// A login with the scope `openid` has one, and ``OAuthCredential/identity`` keeps it. It is made
/// only of a token that this library received from the server's token endpoint over a verified
/// connection and checked (section 3.1.3.7): issuer, audience, nonce, times. A token that came in
/// any other way, such as from a browser or an app, must be verified by its signature, and no such
/// token becomes a `VerifiedIdentity`.
///
/// Keep accounts by ``issuer`` and ``subject``, or ``accountName``, which never change. An e-mail
/// address can be given to another person.
///
/// Descriptions, dumps and mirrors show nothing of it.
public struct VerifiedIdentity: Sendable {
  /// The server's name, which is that of the client, byte for byte.
  public let issuer: String
  /// The person's name at the server: 1 to 255 characters of printable ASCII, never used again for
  /// another person.
  public let subject: String
  /// When the token was issued, by the clock of the server.
  public let issueDate: Date
  /// When the token expires, by the clock of the server.
  ///
  /// It was checked when the token was received. It does not limit how long the person stays logged
  /// in.
  public let expirationDate: Date
  /// When the person authenticated, by the clock of the server, if it says so.
  ///
  /// It must say so for a login that limits how long ago that may be (`maxAge`).
  public let authenticationDate: Date?
  private let payload: Data

  init(_ token: IdentityToken) {
    issuer = token.issuer
    subject = token.subject
    issueDate = token.issueDate
    expirationDate = token.expirationDate
    authenticationDate = token.authenticationDate
    payload = token.payload
  }

  /// The name of the person's account: ``issuer``, a space and ``subject``.
  ///
  /// It is suitable for an `AccountIdentifier`, or as a key in a database.
  public var accountName: String { "\(issuer) \(subject)" }

  /// Returns claims, decoded as JSON: `try identity.claims(as: Profile.self).name`.
  ///
  /// - Throws: `incompleteResponse` when the claims do not have the form of the type.
  public func claims<Claims: Decodable>(as type: Claims.Type) throws(WebLoginError) -> Claims {
    do {
      return try JSONDecoder().decode(type, from: payload)
    } catch {
      // The decoder's own error may quote a claim.
      throw WebLoginError(
        .incompleteResponse, "the claims of the identity token cannot be read as \(type)",
        remedy: "Make those optional that the server does not always send")
    }
  }

  private struct Address: Decodable {
    let text: String?
    let isVerified: Bool

    enum CodingKeys: String, CodingKey {
      case email
      case isVerified = "email_verified"
    }

    init(from decoder: any Decoder) throws {
      let claims = try decoder.container(keyedBy: CodingKeys.self)
      // A claim of another type is absent.
      text = try? claims.decode(String.self, forKey: .email)
      // Some servers write a text.
      isVerified =
        (try? claims.decode(Bool.self, forKey: .isVerified))
        ?? ((try? claims.decode(String.self, forKey: .isVerified)) == "true")
    }
  }

  private var address: Address? { try? JSONDecoder().decode(Address.self, from: payload) }

  /// The person's e-mail address, if the server gives one: to write to, never to find an account
  /// by.
  public var email: String? { address?.text }

  /// Whether the server says that the person has shown that the address is theirs.
  public var isEmailVerified: Bool { address?.isVerified ?? false }
}

extension VerifiedIdentity: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// A redacted description, without any claim.
  public var description: String { "[verified identity]" }
  /// A redacted description, without any claim.
  public var debugDescription: String { description }
  /// No children, so that a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
