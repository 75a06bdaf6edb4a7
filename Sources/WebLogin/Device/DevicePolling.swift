import SessionToolsBase

extension OAuthClient {
  private static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

  /// Waits until the person has finished the login on the other device (RFC 8628, section 3.4).
  ///
  /// The server is asked as often as it wants: first after its interval, five seconds less often each
  /// time it says `slow_down`, and half as often after each time it could not be reached. Cancelling the
  /// task ends it at once. Blocks no thread.
  ///
  /// - Parameter authorization: What ``authorizeDevice(scopes:)`` gave; used once.
  /// - Returns: The credential, for a session to store.
  /// - Throws: `denied` when the person said no, `timedOut` when the codes are not good any more,
  ///   `cancelled`, `refused` or `invalidResponse`.
  public func credential(
    for authorization: DeviceAuthorization
  ) async throws(WebLoginError) -> OAuthCredential {
    let request = TokenRequest(
      endpoint: try await server().tokenEndpoint,
      fields: [
        ("grant_type", Self.grantType), ("device_code", authorization.deviceCode.text),
      ])
    var interval = authorization.interval
    while true {
      guard clock.uptime + interval < authorization.end else {
        throw Self.timedOut
      }
      do {
        try await clock.sleep(for: interval)
      } catch {
        throw .ofCancellation
      }
      do throws(WebLoginError) {
        return try await credential(for: request, asked: authorization.scopes)
      } catch {
        interval = try Self.next(interval, after: error)
      }
    }
  }

  /// How long to wait after an answer that is none yet (RFC 8628, section 3.5).
  ///
  /// - Throws: What ends the waiting.
  private static func next(
    _ interval: Duration, after error: WebLoginError
  ) throws(WebLoginError) -> Duration {
    switch (error.code, error.refusal?.error) {
    case (WebLoginError.refused, "authorization_pending"): return interval
    case (WebLoginError.refused, "slow_down"): return interval + .seconds(5)
    case (WebLoginError.refused, "access_denied"):
      throw WebLoginError(
        WebLoginError.denied, "the login was not allowed", refusal: error.refusal)
    case (WebLoginError.refused, "expired_token"): throw timedOut
    case (WebLoginError.unreachable, _), (WebLoginError.unavailable, _):
      return max(min(interval * 2, .seconds(300)), error.retryAfter ?? .zero)
    default: throw error
    }
  }

  private static var timedOut: WebLoginError {
    WebLoginError(
      WebLoginError.timedOut, "nobody finished the login on another device in time",
      remedy: "Start it again")
  }
}
