public import SessionToolsBase

extension OAuthClient {
  /// Exchanges a refresh token for new tokens (RFC 6749, section 6).
  ///
  /// A server that gives no new refresh token goes on taking the old one, which is in the new
  /// credential then.
  ///
  /// - Throws: `noRefreshToken`, `refused`, `unreachable`, `unavailable`, `invalidResponse`,
  ///   `cancelled`, or what asking for the server's addresses throws.
  public func refresh(_ credential: OAuthCredential) async throws(WebLoginError) -> OAuthCredential
  {
    guard let token = credential.refreshToken else {
      throw WebLoginError(
        WebLoginError.noRefreshToken, "the server gave no refresh token",
        remedy: "Log in again when it has expired; many servers want the scope offline_access",
        wasSent: false)
    }
    let request = TokenRequest(
      endpoint: try await server().tokenEndpoint,
      fields: [("grant_type", "refresh_token"), ("refresh_token", token)])
    let new = try await self.credential(for: request, asked: credential.scopes)
    return OAuthCredential(
      accessToken: new.accessToken, refreshToken: new.refreshToken ?? token,
      tokenType: new.tokenType, scopes: new.scopes,
      identityToken: new.identityToken ?? credential.identityToken, nonce: credential.nonce,
      serverExpirationDate: new.serverExpirationDate, serverIssueDate: new.serverIssueDate,
      serverClockLead: new.serverClockLead)
  }

  /// What a session of credentials is refreshed with.
  ///
  /// Only `invalid_grant`, which is about the refresh token itself, signs anyone out. What else the
  /// server refuses (a client that is not known, a grant that is not allowed) is somebody's mistake
  /// that can be mended: the credential stays, as it does without a network.
  public func refresher(policy: RefreshPolicy = RefreshPolicy()) -> SessionRefresher<
    OAuthCredential
  > {
    SessionRefresher(policy: policy, clock: clock) { [self] request in
      await outcome(of: request.item) { $0 }
    }
  }

  /// What a session of items is refreshed with that have a credential as a part of them.
  ///
  /// When the rest of the item was changed meanwhile, that change and the new credential are kept.
  public func refresher<Item: Sendable>(
    of credential: any WritableKeyPath<Item, OAuthCredential> & Sendable,
    policy: RefreshPolicy = RefreshPolicy()
  ) -> SessionRefresher<Item> {
    SessionRefresher(
      policy: policy, clock: clock, expiration: { $0[keyPath: credential].expirationDate },
      issue: { $0[keyPath: credential].issueDate },
      merge: { sent, refreshed, stored in
        // Another credential is from another login.
        guard stored[keyPath: credential] == sent[keyPath: credential] else { return nil }
        var merged = stored
        merged[keyPath: credential] = refreshed[keyPath: credential]
        return merged
      }
    ) { [self] request in
      await outcome(of: request.item[keyPath: credential]) { new in
        var item = request.item
        item[keyPath: credential] = new
        return item
      }
    }
  }

  private func outcome<Item>(
    of credential: OAuthCredential, item: (OAuthCredential) -> Item
  ) async -> RefreshOutcome<Item> {
    do throws(WebLoginError) {
      return .refreshed(item(try await refresh(credential)))
    } catch {
      if error.code == WebLoginError.refused, error.refusal?.error == "invalid_grant" {
        return .rejected(error)
      }
      return .transientFailure(
        error, retryAfter: error.retryAfter ?? Self.pause(after: error), wasSent: error.wasSent)
    }
  }

  /// What only a person can mend is not worth several tries, nor that others wait for the next.
  private static func pause(after error: WebLoginError) -> Duration? {
    if error.code == WebLoginError.noRefreshToken { return .seconds(86_400) }
    return error.isTransient ? nil : .seconds(60)
  }
}
