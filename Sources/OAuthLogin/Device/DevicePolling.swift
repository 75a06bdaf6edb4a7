import SessionToolsBase

extension OAuthClient {
  /// How many answers in a row that are not an authorization server's end the polling.
  private static let maximumStrangeCount = 4
  private static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

  /// Waits until the person has finished the login on the other device (RFC 8628, section 3.4).
  ///
  /// The server is polled at the rate it wants: first after its interval, which grows by five
  /// seconds each time the server answers `slow_down`, and doubles each time the server is
  /// unreachable or busy. Cancelling the task ends it at once. Blocks no thread.
  ///
  /// - Parameters:
  ///   - authorization: The result of ``authorizeDevice(scopes:parameters:)``; usable once.
  ///   - timeout: How long to wait, if not as long as the codes are valid.
  /// - Returns: The credential, for a session to store.
  /// - Throws: `denied` when the person refused, `timedOut` when the codes have expired,
  ///   `unsupported` for a token that is not a bearer token, `cancelled`, `refused`,
  ///   `invalidResponse`, `incompleteResponse`, `responseTooLarge`, `untrusted`, `proxyRefused`, or
  ///   the errors of asking for the server's addresses.
  public func credential(
    for authorization: DeviceAuthorization, timeout: Duration? = nil
  ) async throws(WebLoginError) -> OAuthCredential {
    let request = TokenRequest(
      endpoint: try await server().tokenEndpoint,
      fields: [
        ("grant_type", Self.grantType), ("device_code", authorization.deviceCode.text),
      ] + resourceFields)
    let end = timeout.map { min(authorization.end, clock.uptime + $0) } ?? authorization.end
    var interval = authorization.interval
    var strangeCount = 0
    while true {
      guard clock.uptime + interval < end else {
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
        strangeCount = error.code == .invalidResponse ? strangeCount + 1 : 0
        // An answer that cannot be read has spent the code, if it is a success; otherwise something
        // on the way may have answered, which passes.
        guard strangeCount < Self.maximumStrangeCount, !error.wasAccepted else { throw error }
        interval = try Self.next(interval, after: error)
      }
    }
  }

  /// Returns how long to wait after an answer that is not final (RFC 8628, section 3.5).
  ///
  /// - Throws: The error that ends the polling.
  private static func next(
    _ interval: Duration, after error: WebLoginError
  ) throws(WebLoginError) -> Duration {
    switch (error.code, error.refusal?.error) {
    case (WebLoginError.refused, "authorization_pending"): return interval
    case (WebLoginError.refused, "slow_down"): return interval + .seconds(5)
    // The second is Microsoft's name for it.
    case (WebLoginError.refused, "access_denied"),
      (WebLoginError.refused, "authorization_declined"):
      throw WebLoginError(
        .denied, "the login was not allowed", refusal: error.refusal)
    case (WebLoginError.refused, "expired_token"): throw timedOut
    case _ where error.isTransient:
      return max(min(interval * 2, .seconds(300)), error.retryAfter ?? .zero)
    default: throw error
    }
  }

  private static var timedOut: WebLoginError {
    WebLoginError(
      .timedOut, "the login on another device was not finished in time",
      remedy: "Start it again")
  }
}
