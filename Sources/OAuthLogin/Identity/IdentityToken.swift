package import Foundation

/// An identity token as it is written (RFC 7515, section 7.1; RFC 7519; OpenID Connect Core,
/// section 2).
///
/// Nothing of it is verified yet. It is read strictly, unlike other answers, because it says whose
/// account it is.
package struct IdentityToken: Sendable {
  /// The largest size in bytes.
  package static let maximumByteCount = 64 << 10
  /// Year 9999: later dates cannot be written.
  private static let maximumSeconds = 253_402_300_799.0

  package let issuer: String
  package let subject: String
  package let audiences: [String]
  package let authorizedParty: String?
  package let nonce: String?
  package let issueDate: Date
  package let expirationDate: Date
  package let authenticationDate: Date?
  /// All claims, as JSON.
  package let payload: Data

  /// Reads a token.
  ///
  /// - Throws: The fault.
  package init(_ text: String) throws(IdentityFault) {
    guard text.utf8.count <= Self.maximumByteCount else { throw .unreadable("is too long") }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count != 5 else { throw .encrypted }
    guard parts.count == 3 else { throw .unreadable("does not have three parts") }
    guard let head = Base64URL.decode(parts[0]), let body = Base64URL.decode(parts[1]),
      let signature = Base64URL.decode(parts[2]), !signature.isEmpty
    else { throw .unreadable("is not in Base64, or has no signature") }
    try Self.check(try ClaimSet(head, called: "header"))
    let claims = try ClaimSet(body, called: "payload")
    payload = Data(body)
    issuer = try claims.text("iss")
    subject = try claims.text("sub")
    guard (1...255).contains(subject.utf8.count),
      subject.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw .unreadable("has a sub that is not 1 to 255 characters of ASCII") }
    audiences = try claims.texts("aud")
    authorizedParty = try claims.optionalText("azp")
    nonce = try claims.optionalText("nonce")
    guard let issued = try Self.date("iat", in: claims) else { throw .unreadable("has no iat") }
    guard let end = try Self.date("exp", in: claims) else { throw .unreadable("has no exp") }
    (issueDate, expirationDate) = (issued, end)
    authenticationDate = try Self.date("auth_time", in: claims)
  }

  /// The signature need not be verified (see ``IdentityCheck``), but a token that says that it has
  /// none, or that has extensions which must be understood, is not of the form that is expected.
  private static func check(_ header: ClaimSet) throws(IdentityFault) {
    guard try header.text("alg").lowercased() != "none" else {
      throw .unreadable("is not signed")
    }
    guard !header.names.contains("crit") else {
      throw .unreadable("has extensions that are not known here")
    }
  }

  private static func date(_ name: String, in claims: ClaimSet) throws(IdentityFault) -> Date? {
    guard let seconds = try claims.optionalNumber(name) else { return nil }
    guard (0...maximumSeconds).contains(seconds) else {
      throw .unreadable("has a value of \(name) that is not a date")
    }
    return Date(timeIntervalSince1970: seconds)
  }
}

/// The fault of an identity token, without any of its contents.
package enum IdentityFault: Error {
  /// It is encrypted (RFC 7516).
  case encrypted
  /// It does not have the form of an identity token.
  case unreadable(String)
  /// It is of another issuer, subject, client or login.
  case foreign(String)
  /// It is too old or too new, or the authentication is.
  case untimely(String)

  /// What is wrong with the token: `has no iat`.
  package var text: String {
    switch self {
    case .encrypted: "is encrypted"
    case .unreadable(let text), .foreign(let text), .untimely(let text): text
    }
  }
}
