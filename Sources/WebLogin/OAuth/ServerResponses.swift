import Foundation
import SessionToolsBase

extension OAuthHTTPClient {
  /// Sends a request, and converts the client's errors to this module's.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - isAboutLogin: Whether it contains a code or a token.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `unreachable`, `responseTooLarge` or `cancelled`.
  func answer(
    to request: OAuthHTTPRequest, isAboutLogin: Bool
  ) async throws(WebLoginError) -> OAuthHTTPResponse {
    do {
      return try await send(request)
    } catch {
      if Task.isCancelled { throw WebLoginError.ofCancellation }
      let failure = error as? OAuthHTTPError
      let wasSent = isAboutLogin && failure?.wasSent ?? true
      if failure?.code == .tooLarge {
        throw WebLoginError.tooLarge(wasSent: wasSent, underlying: error)
      }
      throw WebLoginError(
        .unreachable,
        failure?.code == .timedOut
          ? "the authorization server did not answer in time"
          : "the authorization server could not be reached",
        remedy: "Try again when the network works", wasSent: wasSent, underlying: error)
    }
  }
}

extension WebLoginError {
  /// An error for a cancelled task.
  static var ofCancellation: WebLoginError {
    WebLoginError(.cancelled, "the login was cancelled")
  }

  /// Returns an error for an answer that is larger than any of this protocol.
  static func tooLarge(wasSent: Bool = true, underlying: (any Error)? = nil) -> WebLoginError {
    WebLoginError(
      .responseTooLarge, "the answer is larger than any from an authorization server",
      remedy: "Check the server's address, and whether something else answers there",
      wasSent: wasSent, underlying: underlying)
  }

  private struct RefusalBody: Decodable {
    let error: String
    var error_description: String?
  }

  /// Makes an error for a server that is broken or busy.
  init(unavailable response: OAuthHTTPResponse) {
    self.init(
      Self.unavailable, "the authorization server cannot answer now (status \(response.status))",
      retryAfter: response.retryAfter)
  }

  /// Makes an error for an answer that does not follow the protocol.
  init(invalid response: OAuthHTTPResponse) {
    self.init(
      Self.invalidResponse,
      "the answer is not from an authorization server (status \(response.status))",
      remedy: "Check whether the network requires its own login, and try again")
  }

  /// Makes an error from a refusal in an answer; `nil` when the answer contains no refusal.
  ///
  /// The status may be a success, which some servers send with errors.
  init?(refusalIn response: OAuthHTTPResponse) {
    guard response.status < 500, response.status != 429 else {
      self.init(unavailable: response)
      return
    }
    guard let body = try? JSONDecoder().decode(RefusalBody.self, from: response.body) else {
      return nil
    }
    let refusal = Refusal(error: body.error, text: body.error_description)
    if ["temporarily_unavailable", "server_error"].contains(refusal.error) {
      self.init(
        Self.unavailable, "the authorization server cannot answer now", refusal: refusal,
        retryAfter: response.retryAfter)
      return
    }
    self.init(
      Self.refused, "the authorization server refused", remedy: Self.remedies[refusal.error],
      refusal: refusal)
  }

  private static let remedies = [
    "invalid_grant": "Log in again",
    "invalid_client": "Check the client ID, and the secret if there is one",
    "unauthorized_client": "Allow this grant for the client at the server",
    "unsupported_grant_type": "Allow the grant at the server",
    "invalid_scope": "Ask for scopes that the server supports",
  ]
}

extension OAuthHTTPResponse {
  /// How long to wait, given in seconds or as a date (RFC 9110, section 10.2.3); at most a day.
  fileprivate var retryAfter: Duration? {
    guard let text = self["Retry-After"] else { return nil }
    let seconds =
      Double(text)
      ?? HTTPDate.date(text).map {
        $0.timeIntervalSince(self["Date"].flatMap(HTTPDate.date) ?? Date())
      }
    return seconds.flatMap { $0.isFinite ? .seconds(min(max(0, $0), 86_400)) : nil }
  }
}
