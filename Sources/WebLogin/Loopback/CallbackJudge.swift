import SessionToolsBase
import Synchronization

/// The result that the browser brought back.
enum LoginCallback: Sendable {
  case code(SecretBytes)
  case denied(WebLoginError.Refusal)
}

/// The check for the one request that the login is waiting for.
///
/// Any process of the user, and any web page, can send requests to the port. Only a request with
/// the state, which only the person's browser has, ends or continues the login.
final class CallbackJudge: Sendable {
  private let path: String
  /// As browsers write them: without the port if it is that of plain `http`.
  private let authorities: Set<String>
  private let state: SecretBytes
  private let server: AuthorizationServer
  private let deliver: @Sendable (Result<LoginCallback, WebLoginError>) -> Void
  private let isDelivered = Mutex(false)

  init(
    of login: PendingLogin,
    deliver: @escaping @Sendable (Result<LoginCallback, WebLoginError>) -> Void
  ) {
    path = login.redirectPath
    authorities = login.redirectAuthorities
    state = SecretBytes(utf8: login.state)
    server = login.server
    self.deliver = deliver
  }

  func answer(_ request: Result<LoopbackRequest, LoopbackRequest.Fault>) -> LoopbackResponse {
    switch request {
    case .failure(.isTooLong): LoopbackResponse(.tooLong, "The request is too long.")
    case .failure: .malformed
    case .success(let request): answer(request)
    }
  }

  private func answer(_ request: LoopbackRequest) -> LoopbackResponse {
    // A foreign host name that a web page has pointed at our address (DNS rebinding) is not our
    // name.
    guard authorities.contains(request.host) else { return .malformed }
    guard request.path == path else { return LoopbackResponse(.notFound, "There is nothing here.") }
    guard request.method == "GET" else {
      return LoopbackResponse(.methodNotAllowed, "Only a browser's GET is answered here.")
    }
    guard let callback = callback(Form.decode(request.query)) else {
      return LoopbackResponse(
        .badRequest, "This is not the answer that the login is waiting for. It is still waiting.")
    }
    let isFirst = isDelivered.withLock { isDelivered in
      defer { isDelivered = true }
      return !isDelivered
    }
    guard isFirst else {
      return LoopbackResponse(.badRequest, "The login has already received its answer.")
    }
    let text =
      switch callback {
      case .success(.code):
        "The browser's part is done. Close this window and return to the program."
      case .success(.denied):
        "The login was not allowed. Close this window and return to the program."
      case .failure: "The login has failed. Close this window and return to the program."
      }
    return LoopbackResponse(.fine, text) { [deliver] in deliver(callback) }
  }

  /// Returns what the browser brought back; `nil` for anything but the answer to this login.
  private func callback(_ fields: [String: String]) -> Result<LoginCallback, WebLoginError>? {
    // The comparison takes the same time however much of the state is right.
    guard let given = fields["state"], SecretBytes(utf8: given) == state else { return nil }
    if let fault = issuerFault(fields["iss"]) { return .failure(fault) }
    // Some servers send both fields, and leave one of them empty.
    let (code, error) = (fields["code"] ?? "", fields["error"] ?? "")
    switch (code.isEmpty, error.isEmpty) {
    case (false, true): return .success(.code(SecretBytes(utf8: code)))
    case (_, false):
      return .success(
        .denied(WebLoginError.Refusal(error: error, text: fields["error_description"])))
    case (true, true):
      return .failure(
        WebLoginError(
          .incompleteResponse,
          "the browser came back from \(PlainText.shown(server.issuer)) with neither one code nor "
            + "one error", remedy: "Report it to those who run the server"))
    }
  }

  /// Returns the error for an answer that may be another server's: RFC 9207, section 2.4.
  private func issuerFault(_ named: String?) -> WebLoginError? {
    let expected = PlainText.shown(server.issuer)
    if let named {
      guard !named.utf8.elementsEqual(server.issuer.utf8) else { return nil }
      return WebLoginError(
        .wrongIssuer,
        "the browser came back from the issuer \(PlainText.shown(named)), and the login began at "
          + expected,
        remedy: "If that is the same server, give its issuer as the server writes it, or ask those "
          + "who run it to write it the same everywhere")
    }
    guard server.namesItselfInResponses else { return nil }
    return WebLoginError(
      .wrongIssuer,
      "the browser came back without the name of the issuer \(expected), which its server promises")
  }
}
