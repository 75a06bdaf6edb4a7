public import SessionToolsBase

extension OAuthClient {
  /// Tells the server that a credential is used no more (RFC 7009).
  ///
  /// The refresh token first, then the access token; a server that has no revocation is left alone.
  ///
  /// - Throws: `refused`, `unreachable`, `unavailable`, `invalidResponse`, `cancelled`, or what
  ///   asking for the server's addresses throws.
  public func revoke(_ credential: OAuthCredential) async throws(WebLoginError) {
    guard let endpoint = try await server().revocationEndpoint else { return }
    var tokens = [("access_token", credential.accessToken)]
    if let token = credential.refreshToken { tokens.insert(("refresh_token", token), at: 0) }
    for (kind, token) in tokens {
      let request = TokenRequest(
        endpoint: endpoint, fields: [("token", token), ("token_type_hint", kind)])
      do throws(WebLoginError) {
        _ = try await answer(to: request)
      } catch  where error.refusal?.error == "unsupported_token_type" {
        // Some servers revoke refresh tokens alone; those of access end soon by themselves.
        continue
      }
    }
  }
}

extension Session {
  /// Removes the item, and tells the server that its credential is used no more (RFC 7009).
  ///
  /// The item is removed in any case: whoever signs out without a network is signed out. A `UserSession`
  /// announces it.
  ///
  /// - Parameters:
  ///   - credential: Where it is in the item.
  ///   - client: Who it was given to.
  /// - Throws: What kept the item from being removed; or else, when it is removed, a
  ///   ``WebLoginError`` that says why the server was not told.
  public func signOut(
    revoking credential: any KeyPath<T, OAuthCredential> & Sendable, with client: OAuthClient
  ) async throws {
    // Told before it is removed: whoever is killed in between is signed out by the next refresh.
    var failure: WebLoginError?
    var told: OAuthCredential?
    // A refresh in another process may have put a new one there meanwhile.
    while let stored = try? await item()?[keyPath: credential], stored != told {
      told = stored
      do throws(WebLoginError) {
        try await client.revoke(stored)
      } catch {
        failure = error
        break
      }
    }
    if let session = self as? UserSession<T> {
      try await session.logOut()
    } else {
      try await remove()
    }
    if let failure { throw failure }
  }
}

extension Session<OAuthCredential> {
  /// Removes the credential, and tells the server that it is used no more: as
  /// ``SessionToolsBase/Session/signOut(revoking:with:)``.
  ///
  /// - Throws: As that does.
  public func signOut(revokingWith client: OAuthClient) async throws {
    try await signOut(revoking: \.self, with: client)
  }
}
