import Foundation
import SessionToolsBase

extension [String] {
  /// Whether these scopes ask for an identity token (OpenID Connect Core, section 3.1.2.1).
  var askForIdentity: Bool { contains { $0.split(separator: " ").contains("openid") } }
}

extension ReceivedTokens {
  /// Checks the identity token of a login.
  ///
  /// - Parameters:
  ///   - client: The client that logged in.
  ///   - nonce: The nonce that was sent, if any.
  ///   - authenticatedAfter: The earliest time of authentication, by this machine's clock.
  /// - Throws: `incompleteResponse` when the token is absent or not as it must be; `unsupported`
  ///   when it is encrypted.
  func checkIdentity(
    for client: OAuthClient, nonce: String?, authenticatedAfter: Date?
  ) throws(WebLoginError) {
    guard let identityToken else {
      throw answer.incomplete("has no id_token, although the scope openid was asked for")
    }
    let check = IdentityCheck(
      issuer: client.issuer, clientID: client.clientID, trustedAudiences: client.trustedAudiences,
      nonce: .of(nonce.map { SecretBytes(utf8: $0) }),
      authenticatedAfter: authenticatedAfter.map { $0 + serverClockLead }, now: issueDate)
    do throws(IdentityFault) {
      try check.check(try IdentityToken(identityToken))
    } catch {
      throw self.error(of: error)
    }
  }

  /// Returns the identity token to keep after a refresh (OpenID Connect Core, section 12.2).
  ///
  /// The request has spent the old refresh token, so an identity token that cannot be read, or
  /// whose times are wrong, must not cost the new one: the login's is kept instead. One of another
  /// person, issuer, client or login means that the tokens are not this person's.
  ///
  /// - Throws: `incompleteResponse` for such a token.
  func identityToken(
    refreshing old: OAuthCredential, for client: OAuthClient
  ) throws(WebLoginError) -> String? {
    guard let identityToken else { return old.identityToken }
    guard let identity = old.identity else { return identityToken }
    let check = IdentityCheck(
      issuer: identity.issuer, clientID: client.clientID,
      trustedAudiences: client.trustedAudiences,
      nonce: .ofLogin(old.nonce.map { SecretBytes(utf8: $0) }), subject: identity.subject,
      now: issueDate)
    do throws(IdentityFault) {
      try check.check(try IdentityToken(identityToken))
      return identityToken
    } catch .foreign(let text) {
      throw error(of: .foreign(text))
    } catch {
      return old.identityToken
    }
  }

  private func error(of fault: IdentityFault) -> WebLoginError {
    switch fault {
    case .encrypted:
      WebLoginError(
        .unsupported, "\(answer.server) encrypts its identity tokens",
        remedy: "Make the server send this client identity tokens that are only signed",
        wasAccepted: true)
    case .unreadable, .foreign, .untimely:
      answer.incomplete("has an id_token that \(fault.text)")
    }
  }
}
