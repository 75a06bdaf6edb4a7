import Foundation
import SessionToolsBase

extension HTTPClient {
  /// Sends a request, and says in this module's words what kept it from being answered.
  ///
  /// - Parameters:
  ///   - request: What to send.
  ///   - isAboutLogin: Whether it holds a code or a token.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `unreachable`, `responseTooLarge` or `cancelled`.
  func answer(
    to request: HTTPRequest, isAboutLogin: Bool
  ) async throws(WebLoginError) -> HTTPResponse {
    do {
      return try await send(request)
    } catch {
      if Task.isCancelled { throw WebLoginError.ofCancellation }
      let failure = error as? HTTPError
      let wasSent = isAboutLogin && failure?.wasSent ?? true
      if failure?.code == HTTPError.tooLarge {
        throw WebLoginError.tooLarge(wasSent: wasSent, underlying: error)
      }
      throw WebLoginError(
        WebLoginError.unreachable,
        failure?.code == HTTPError.timedOut
          ? "the authorization server did not answer in time"
          : "the authorization server could not be reached",
        remedy: "Try again when the network works", wasSent: wasSent, underlying: error)
    }
  }
}

extension WebLoginError {
  /// The end of a task that was cancelled.
  static var ofCancellation: WebLoginError {
    WebLoginError(Self.cancelled, "the login was cancelled")
  }

  /// An answer with more in it than any server of this protocol says.
  static func tooLarge(wasSent: Bool = true, underlying: (any Error)? = nil) -> WebLoginError {
    WebLoginError(
      responseTooLarge, "the answer is larger than that of an authorization server",
      remedy: "Look at the server's address, and whether something answers in its place",
      wasSent: wasSent, underlying: underlying)
  }

  private struct Refusal: Decodable {
    let error: String
    var error_description: String?
  }

  /// A server that is broken or has too much to do.
  init(unavailable response: HTTPResponse) {
    self.init(
      Self.unavailable, "the authorization server cannot answer now (status \(response.status))",
      retryAfter: response.retryAfter)
  }

  /// An answer that no server of this protocol gives.
  init(invalid response: HTTPResponse) {
    self.init(
      Self.invalidResponse,
      "the answer is not one of an authorization server (status \(response.status))",
      remedy: "Look whether the network asks for a login of its own, and try again")
  }

  /// What the answer says no with; `nil` when it says yes, or something else.
  ///
  /// Also where the status says that all is well, which some servers send with errors.
  init?(refusalIn response: HTTPResponse) {
    guard response.status < 500, response.status != 429 else {
      self.init(unavailable: response)
      return
    }
    guard let answer = try? JSONDecoder().decode(Refusal.self, from: response.body) else {
      return nil
    }
    let refusal = ServerRefusal(error: answer.error, text: answer.error_description)
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
    "invalid_client": "Look at the client ID, and at the secret if there is one",
    "unauthorized_client": "Allow this client the grant at the server",
    "unsupported_grant_type": "Allow the grant at the server",
    "invalid_scope": "Ask for scopes that the server has",
  ]
}

extension HTTPResponse {
  /// How long to wait, in seconds or until a date (RFC 9110, section 10.2.3); a day at most.
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
