import SessionToolsBase
import Synchronization

/// What the browser brought back.
enum LoginCallback: Sendable {
  case code(SecretBytes)
  case denied(ServerRefusal)
}

/// Tells the one request that the login waits for from all others.
///
/// Any process of the user, and any web page, can send requests to the port. None of them ends the
/// login or goes on with it but one that knows the state, which only the person's browser has.
final class CallbackJudge: Sendable {
  private let path: String
  private let authority: String
  private let state: SecretBytes
  private let server: AuthorizationServer
  private let deliver: @Sendable (LoginCallback) -> Void
  private let isDelivered = Mutex(false)

  init(
    of login: PendingLogin, at authority: String,
    deliver: @escaping @Sendable (LoginCallback) -> Void
  ) {
    path = login.redirectPath
    self.authority = authority
    state = SecretBytes(utf8: login.state)
    server = login.server
    self.deliver = deliver
  }

  func answer(_ request: Result<LoopbackRequest, LoopbackRequest.Fault>) -> LoopbackAnswer {
    switch request {
    case .failure(.isTooLong): LoopbackAnswer(.tooLong, "The request is too long.")
    case .failure: .malformed
    case .success(let request): answer(request)
    }
  }

  private func answer(_ request: LoopbackRequest) -> LoopbackAnswer {
    // A name that a web page has had its address changed for, to ours, is not our name.
    guard request.host == authority else { return .malformed }
    guard request.path == path else { return LoopbackAnswer(.notFound, "There is nothing here.") }
    guard request.method == "GET" else {
      return LoopbackAnswer(.methodNotAllowed, "Only a browser's GET is answered here.")
    }
    guard let fields = Form.decode(request.query), let callback = callback(fields) else {
      return LoopbackAnswer(
        .badRequest, "This is not the answer that the login waits for. It goes on waiting.")
    }
    let isFirst = isDelivered.withLock { isDelivered in
      defer { isDelivered = true }
      return !isDelivered
    }
    guard isFirst else {
      return LoopbackAnswer(.badRequest, "The login has had its answer already.")
    }
    let text =
      switch callback {
      case .code: "The browser has done its part. Close this window and go back to the program."
      case .denied: "The login was not allowed. Close this window and go back to the program."
      }
    return LoopbackAnswer(.fine, text) { [deliver] in deliver(callback) }
  }

  private func callback(_ fields: [String: String]) -> LoginCallback? {
    // Compared in a time that tells nothing of how much of it was right.
    guard let given = fields["state"], SecretBytes(utf8: given) == state else { return nil }
    if let issuer = fields["iss"] {
      // From another server: RFC 9207, section 2.4.
      guard issuer.utf8.elementsEqual(server.issuer.utf8) else { return nil }
    } else if server.namesItselfInResponses {
      return nil
    }
    switch (fields["code"], fields["error"]) {
    case (let code?, nil) where !code.isEmpty: return .code(SecretBytes(utf8: code))
    case (nil, let error?):
      return .denied(ServerRefusal(error: error, text: fields["error_description"]))
    default: return nil
    }
  }
}
