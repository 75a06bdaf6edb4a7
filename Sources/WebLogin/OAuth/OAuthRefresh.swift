public import SessionToolsBase

extension OAuthClient {
  /// Exchanges a refresh token for new tokens (RFC 6749, section 6).
  ///
  /// If the server sends no new refresh token, it continues to accept the old one, which the new
  /// credential then contains.
  ///
  /// - Throws: `noRefreshToken`, `refused`, `unreachable`, `unavailable`, `invalidResponse`,
  ///   `responseTooLarge`, `cancelled`, or the errors of asking for the server's addresses.
  public func refresh(_ credential: OAuthCredential) async throws(WebLoginError) -> OAuthCredential
  {
    guard let token = credential.refreshToken else {
      throw WebLoginError(
        .noRefreshToken, "the server gave no refresh token",
        remedy: "Log in again when it has expired; many servers require the scope offline_access",
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

  /// Returns a refresher for a session of credentials.
  ///
  /// Only `invalid_grant`, which concerns the refresh token itself, signs anyone out. Any other
  /// refusal (an unknown client, a grant that is not allowed) is a mistake that someone can
  /// correct: the credential stays, as it does without a network.
  public func refresher(policy: RefreshPolicy = RefreshPolicy()) -> SessionRefresher<
    OAuthCredential
  > {
    SessionRefresher(policy: policy, clock: clock) { [self] request in
      await outcome(of: request.item) { $0 }
    }
  }

  /// Returns a refresher for a session of items that contain a credential.
  ///
  /// If the rest of the item was changed meanwhile, that change and the new credential are both
  /// kept.
  public func refresher<Item: Sendable>(
    of credential: any WritableKeyPath<Item, OAuthCredential> & Sendable,
    policy: RefreshPolicy = RefreshPolicy()
  ) -> SessionRefresher<Item> {
    SessionRefresher(
      policy: policy, clock: clock, expiration: { $0[keyPath: credential].expirationDate },
      issue: { $0[keyPath: credential].issueDate },
      merge: { sent, refreshed, stored in
        // A different stored credential is from another login.
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
      if error.code == .refused, error.refusal?.error == "invalid_grant" {
        return .rejected(error)
      }
      return .transientFailure(
        error, retryAfter: error.retryAfter ?? Self.pause(after: error), wasSent: error.wasSent)
    }
  }

  /// Returns a longer pause for errors that only a person can correct: retries and waiters cannot
  /// help.
  private static func pause(after error: WebLoginError) -> Duration? {
    if error.code == .noRefreshToken { return .seconds(86_400) }
    return error.isTransient ? nil : .seconds(60)
  }
}
