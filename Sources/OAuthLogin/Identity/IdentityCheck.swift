package import Foundation
package import SessionToolsBase

/// What an identity token must agree with (OpenID Connect Core, sections 3.1.3.7 and 12.2).
///
/// Only for a token that came from the token endpoint itself: there, TLS stands for the token's
/// signature (section 3.1.3.7, point 6).
package struct IdentityCheck {
  /// How far two clocks may differ, in seconds.
  private static let leeway: TimeInterval = 60
  /// The largest age of a token that has just been received, in seconds.
  private static let maximumAge: TimeInterval = 600

  /// What the token's `nonce` must be.
  package enum Nonce {
    /// The one that was sent; there must not be any if none was.
    case of(SecretBytes?)
    /// The one of the login, or none: a refreshed token need not repeat it (section 12.2).
    case ofLogin(SecretBytes?)
  }

  package let issuer: String
  package let clientID: String
  /// Further audiences that a token may have.
  package let trustedAudiences: [String]
  package let nonce: Nonce
  /// The subject of the login, for a refreshed token.
  package let subject: String?
  /// The earliest time of authentication by the server's clock, if the login has limited its age.
  package let authenticatedAfter: Date?
  /// The server's clock.
  package let now: Date

  package init(
    issuer: String, clientID: String, trustedAudiences: [String] = [], nonce: Nonce,
    subject: String? = nil, authenticatedAfter: Date? = nil, now: Date
  ) {
    self.issuer = issuer
    self.clientID = clientID
    self.trustedAudiences = trustedAudiences
    self.nonce = nonce
    self.subject = subject
    self.authenticatedAfter = authenticatedAfter
    self.now = now
  }

  /// Checks a token.
  ///
  /// - Throws: `foreign` or `untimely`.
  package func check(_ token: IdentityToken) throws(IdentityFault) {
    guard Self.isSame(token.issuer, issuer) else { throw .foreign("is of another issuer") }
    try checkAudiences(of: token)
    guard subject.map({ Self.isSame($0, token.subject) }) ?? true else {
      throw .foreign("is of another person than the login's")
    }
    guard isExpected(token.nonce) else { throw .foreign("does not have the nonce of the login") }
    try checkTimes(of: token)
  }

  /// A text is the same byte for byte; Swift's `==` would equate different ones.
  private static func isSame(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8)
  }

  private func checkAudiences(of token: IdentityToken) throws(IdentityFault) {
    guard token.audiences.contains(where: { Self.isSame($0, clientID) }) else {
      throw .foreign("is for another client")
    }
    let trusted = trustedAudiences + [clientID]
    guard
      token.audiences.allSatisfy({ audience in
        trusted.contains { Self.isSame($0, audience) }
      })
    else { throw .foreign("is also for an audience that the program does not trust") }
    // Absent from tokens with several audiences of widespread servers, although section 2 wants it.
    guard token.authorizedParty.map({ Self.isSame($0, clientID) }) ?? true else {
      throw .foreign("was issued to another client")
    }
  }

  private func isExpected(_ given: String?) -> Bool {
    // The comparison takes the same time however much of it is right.
    switch nonce {
    case .of(let sent): given.map { SecretBytes(utf8: $0) } == sent
    case .ofLogin(let sent): given.map { SecretBytes(utf8: $0) == sent } ?? true
    }
  }

  private func checkTimes(of token: IdentityToken) throws(IdentityFault) {
    guard now - Self.leeway < token.expirationDate else { throw .untimely("has expired") }
    guard token.issueDate < now + Self.leeway else {
      throw .untimely("was issued in the future")
    }
    guard token.issueDate >= now - Self.maximumAge else {
      throw .untimely("was issued more than 10 min ago")
    }
    guard let authenticatedAfter else { return }
    guard let date = token.authenticationDate else {
      throw .untimely("has no auth_time, although the age of the authentication is limited")
    }
    guard date > authenticatedAfter - Self.leeway else {
      throw .untimely("is of an authentication that is older than the login allows")
    }
  }
}
