public import SessionToolsBase

extension OAuthClient {
  /// Notifies the server that a credential is no longer used (RFC 7009).
  ///
  /// It revokes the refresh token first, then the access token, also if the first cannot be
  /// revoked. It does nothing if the server has no revocation endpoint.
  ///
  /// - Throws: `refused`, `unavailable`, `invalidResponse`, `incompleteResponse`, the errors of
  ///   sending the request, or those of asking for the server's addresses; the first one, if
  ///   neither token could be revoked.
  public func revoke(_ credential: OAuthCredential) async throws(WebLoginError) {
    guard let endpoint = try await server().revocationEndpoint else { return }
    var tokens = [("access_token", credential.accessToken)]
    if let token = credential.refreshToken { tokens.insert(("refresh_token", token), at: 0) }
    var failure: WebLoginError?
    for (kind, token) in tokens {
      let request = TokenRequest(
        endpoint: endpoint, fields: [("token", token), ("token_type_hint", kind)])
      do throws(WebLoginError) {
        _ = try await answer(to: request)
      } catch  where Self.harmlessRefusals.contains(error.refusal?.error ?? "") {
        continue
      } catch {
        failure = failure ?? error
        if error.code == .cancelled { break }
      }
    }
    if let failure { throw failure }
  }

  /// Some servers revoke only refresh tokens, and access tokens expire soon by themselves; others
  /// refuse a token that has expired or was revoked, which RFC 7009 counts as success.
  private static let harmlessRefusals: Set = [
    "unsupported_token_type", "invalid_token", "invalid_grant",
  ]
}

extension Session {
  /// Removes the item, and notifies the server that its credential is no longer used (RFC 7009).
  ///
  /// The item is removed in any case, so a person without a network can sign out. A `UserSession`
  /// announces the sign-out.
  ///
  /// - Parameters:
  ///   - credential: The credential's place in the item.
  ///   - client: The client that the credential was issued to.
  /// - Throws: The error that kept the item from being removed; or, when it was removed, a
  ///   ``WebLoginError`` with the reason why the server was not notified.
  public func signOut(
    revoking credential: any KeyPath<T, OAuthCredential> & Sendable, with client: OAuthClient
  ) async throws {
    // Revoke before removing: if the process is killed in between, the next refresh signs the user
    // out.
    var failure: WebLoginError?
    var revoked: OAuthCredential?
    // A refresh in another process may have stored a new one meanwhile.
    while let stored = try? await item()?[keyPath: credential], stored != revoked {
      revoked = stored
      do throws(WebLoginError) {
        try await client.revoke(stored)
      } catch {
        failure = error
        break
      }
    }
    if let session = self as? UserSession<T> {
      try await session.signOut()
    } else {
      try await remove()
    }
    if let failure { throw failure }
  }
}

extension Session<OAuthCredential> {
  /// Removes the credential, and notifies the server that it is no longer used.
  ///
  /// See ``SessionToolsSessions/Session/signOut(revoking:with:)``.
  ///
  /// - Throws: The errors of that method.
  public func signOut(revokingWith client: OAuthClient) async throws {
    try await signOut(revoking: \.self, with: client)
  }
}
