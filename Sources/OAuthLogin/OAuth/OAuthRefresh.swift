public import SessionToolsBase

extension OAuthClient {
  /// Exchanges a refresh token for new tokens (RFC 6749, section 6).
  ///
  /// If the server sends no new refresh token, it continues to accept the old one, which the new
  /// credential then contains. Whatever else the answer has is read leniently, because the request
  /// has spent the old token: only without a usable access token does a refresh fail. If the answer
  /// has a new refresh token nevertheless, ``WebLoginError/credential`` has it: store that.
  ///
  /// An identity token in the answer must be of the same issuer and person as the login's, for this
  /// client, and without another nonce (OpenID Connect Core, section 12.2). Otherwise the refresh
  /// fails with `incompleteResponse`, and nothing of the answer is to be stored.
  ///
  /// - Throws: `noRefreshToken`, `refused`, `unavailable`, `invalidResponse`, `incompleteResponse`,
  ///   the errors of sending the request, or those of asking for the server's addresses.
  public func refresh(_ credential: OAuthCredential) async throws(WebLoginError) -> OAuthCredential
  {
    guard let token = credential.refreshToken else {
      throw WebLoginError(
        .noRefreshToken, "the server gave no refresh token",
        remedy: "Log in again when it has expired; many servers require the scope offline_access")
    }
    let request = TokenRequest(
      endpoint: try await server().tokenEndpoint,
      fields: [("grant_type", "refresh_token"), ("refresh_token", token)] + resourceFields)
    let tokens = try await tokensAlsoIfAnswerIsLost(for: request)
    // First of all: the tokens of another person are not stored, not even a part of them.
    let identityToken = try tokens.identityToken(refreshing: credential, for: self)
    if let new = tokens.credential(refreshing: credential, identityToken: identityToken) {
      return new
    }
    throw tokens.withoutAccessToken.with(
      credential: tokens.refreshToken.map { credential.with(refreshToken: $0) })
  }

  /// Requests tokens, and once more at once when no answer came: the server may have spent the old
  /// token, and those that then accept it once more do so for some seconds only.
  private func tokensAlsoIfAnswerIsLost(
    for request: TokenRequest
  ) async throws(WebLoginError) -> ReceivedTokens {
    do throws(WebLoginError) {
      return try await tokens(for: request)
    } catch {
      guard let failure = error.underlying as? OAuthHTTPError, failure.wasSent,
        [.noResponse, .timedOut].contains(failure.code), failure.status == nil
      else { throw error }
      return try await tokens(for: request)
    }
  }

  /// Returns a refresher for a session of credentials.
  ///
  /// Only `invalid_grant`, which concerns the refresh token itself, signs anyone out; with
  /// Microsoft's `suberror`, only if that says so. Any other refusal (an unknown client, a grant
  /// that is not allowed, a second factor that is missing) is something that someone can correct:
  /// the credential stays, as it does without a network.
  public func refresher(policy: RefreshPolicy = RefreshPolicy()) -> SessionRefresher<
    OAuthCredential
  > {
    SessionRefresher(policy: policy, clock: clock) { [self] request in
      await outcome(of: request.item, policy) { $0 }
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
      await outcome(of: request.item[keyPath: credential], policy) { new in
        var item = request.item
        item[keyPath: credential] = new
        return item
      }
    }
  }

  private func outcome<Item>(
    of credential: OAuthCredential, _ policy: RefreshPolicy, item: (OAuthCredential) -> Item
  ) async -> RefreshOutcome<Item> {
    do throws(WebLoginError) {
      return .refreshed(item(try await refresh(credential)))
    } catch {
      if error.code == .refused, error.refusal?.isOfToken == true { return .rejected(error) }
      return .transientFailure(
        error, retryAfter: error.retryAfter ?? Self.pause(after: error, policy),
        storing: error.credential.map(item))
    }
  }

  /// Returns a longer pause for errors that only a person can correct, where retries and waiters
  /// cannot help, and for answers that spent the token: it is not sent again in the same call.
  private static func pause(after error: WebLoginError, _ policy: RefreshPolicy) -> Duration? {
    if error.code == .noRefreshToken { return .seconds(86_400) }
    return error.isTransient && !error.wasAccepted
      ? nil : max(.seconds(60), policy.attemptWindow + .seconds(1))
  }
}
