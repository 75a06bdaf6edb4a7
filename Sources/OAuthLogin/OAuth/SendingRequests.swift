import Foundation
import SessionToolsBase

extension OAuthHTTPClient {
  /// Sends a request, and converts the client's errors to this module's.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - isAboutLogin: Whether it contains a code or a token.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `nameNotFound`, `unreachable`, `answerTimedOut`, `untrusted`, `insecure`,
  ///   `proxyUnreachable`, `proxyRefused`, `responseTooLarge` or `cancelled`.
  func answer(
    to request: OAuthHTTPRequest, isAboutLogin: Bool
  ) async throws(WebLoginError) -> ServerAnswer {
    do {
      return ServerAnswer(try await send(request), from: request.url)
    } catch {
      if Task.isCancelled { throw WebLoginError.ofCancellation }
      // Servers announce more than they send, or never end an answer of which everything is there.
      if let received = (error as? OAuthHTTPError)?.received {
        let answer = ServerAnswer(received, from: request.url)
        if answer.isSuccess, answer.fields != nil { return answer }
      }
      throw WebLoginError(error, from: request.url, isAboutLogin: isAboutLogin)
    }
  }
}

extension WebLoginError {
  /// An error for a cancelled task.
  static var ofCancellation: WebLoginError {
    WebLoginError(.cancelled, "the login was cancelled")
  }

  /// Returns an error for an answer that is larger than any of this protocol.
  static func tooLarge(
    _ server: String, wasAccepted: Bool = false, underlying: (any Error)? = nil
  ) -> WebLoginError {
    WebLoginError(
      .responseTooLarge, "the answer of \(server) is larger than any from an authorization server",
      remedy: "Check the server's address, and whether something else answers there",
      wasAccepted: wasAccepted, underlying: underlying)
  }

  /// Makes an error of the one that kept a server from answering.
  fileprivate init(_ error: any Error, from url: URL, isAboutLogin: Bool) {
    let server = ServerAddress.name(of: url)
    let failure = error as? OAuthHTTPError
    let wasAccepted = isAboutLogin && (failure?.status).map((200..<300).contains) ?? false
    let cause = failure.map { ": \($0.reason)" } ?? ""
    let (code, reason, remedy): (Code, String, String)
    switch failure?.code {
    case OAuthHTTPError.tooLarge?:
      self = .tooLarge(server, wasAccepted: wasAccepted, underlying: error)
      return
    case OAuthHTTPError.nameNotFound?:
      (code, reason, remedy) = (
        .nameNotFound, "the name of \(server) was not found",
        "Check the name, or try again when the network works"
      )
    case OAuthHTTPError.timedOut?:
      (code, reason, remedy) = (
        .answerTimedOut, "\(server) did not answer in time", "Try again when the network works"
      )
    case OAuthHTTPError.untrusted?:
      (code, reason, remedy) = (
        .untrusted, "the certificate of \(server) is not trusted\(cause)",
        "Check the address, this machine's clock, and SSL_CERT_FILE if it is set: a company's own "
          + "certificate authority must be added to the system, or be in that file"
      )
    case OAuthHTTPError.insecure?:
      (code, reason, remedy) = (
        .insecure, "no secure connection to \(server) was made\(cause)",
        "Check the address: another program may have that port"
      )
    case OAuthHTTPError.proxyUnreachable?:
      (code, reason, remedy) = (
        .proxyUnreachable, "\(server) was not reached\(cause)",
        "Check that variable, or try again when the proxy works"
      )
    case OAuthHTTPError.proxyRefused?:
      (code, reason, remedy) = (
        .proxyRefused, "\(server) was not reached\(cause)",
        failure?.status == 407
          ? "Check that variable, where a user and a password are written, percent-encoded, in "
            + "front of the host"
          : "Check that variable, and SSL_CERT_FILE if the proxy is asked over https, or ask those "
            + "who run the proxy"
      )
    default:
      (code, reason, remedy) = (
        .unreachable, "\(server) could not be reached\(cause)", "Try again when the network works"
      )
    }
    self.init(code, reason, remedy: remedy, wasAccepted: wasAccepted, underlying: error)
  }
}
