import Foundation
import SessionToolsBase
import Synchronization

/// The check for the one request that the login is waiting for.
///
/// Any process of the user, and any web page, can send requests to the port. Only a request with
/// the state, which only the person's browser has, ends or continues the login. The same holds for
/// an address that a person pastes.
final class CallbackJudge: Sendable {
  private let path: String
  private let redirectAddress: String
  /// As browsers write them: without the port if it is that of plain `http`.
  private let authorities: Set<String>
  private let expected: LoginCallback.Expectation
  private let deliver: @Sendable (Result<LoginCallback, WebLoginError>) -> Void
  private let isDelivered = Mutex(false)

  init(
    of login: PendingLogin,
    deliver: @escaping @Sendable (Result<LoginCallback, WebLoginError>) -> Void
  ) {
    path = login.redirectPath
    redirectAddress = login.redirectAddress
    authorities = login.redirectAuthorities
    expected = LoginCallback.Expectation(
      state: SecretBytes(utf8: login.state), issuer: login.server.issuer,
      namesItself: login.server.namesItselfInResponses)
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
    guard let callback = LoginCallback.judge(request.query, expected) else {
      return LoopbackResponse(
        .badRequest, "This is not the answer that the login is waiting for. It is still waiting.")
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

  /// Whether this is the first answer that the login gets.
  private var isFirst: Bool {
    isDelivered.withLock { isDelivered in
      defer { isDelivered = true }
      return !isDelivered
    }
  }

  /// Judges the address of the page that a browser could not load.
  ///
  /// - Returns: What to paste instead; `nil` if the address has ended the login.
  func refusal(ofPasted address: SecretBytes) -> String? {
    let text = address.copyText()?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    let whatToPaste =
      "paste the whole address of the page that the browser cannot open, which begins with "
      + "\(redirectAddress)?"
    guard let components = URLComponents(string: text), components.scheme == "http",
      authorities.contains(Self.authority(of: components)), components.path == path,
      let query = components.percentEncodedQuery
    else { return "This is not the address: \(whatToPaste)" }
    guard let callback = LoginCallback.judge(query, expected) else {
      return "This is the address of another login: \(whatToPaste)"
    }
    if isFirst { deliver(callback) }
    return nil
  }

  private static func authority(of address: URLComponents) -> String {
    (address.host ?? "") + (address.port.map { ":\($0)" } ?? "")
  }
}
