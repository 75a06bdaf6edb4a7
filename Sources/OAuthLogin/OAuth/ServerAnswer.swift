import Foundation

/// An answer of a server, as far as it is understood.
struct ServerAnswer {
  enum Content {
    case fields(AnswerFields)
    /// JSON that is not an object.
    case otherJSON
    /// A web page, for example.
    case other
    case nothing
  }

  /// The server's name in messages.
  let server: String
  /// The server's name and the path that was asked for.
  private let place: String
  let status: Int
  let content: Content
  /// When the server sent it, by its clock, if it says.
  let date: Date?
  /// How long the server asks to wait.
  let retryAfter: Duration?

  init(_ response: OAuthHTTPResponse, from url: URL) {
    server = ServerAddress.name(of: url)
    place = server + PlainText.shown(url.path(percentEncoded: true))
    status = response.status
    date = response["Date"].flatMap(HTTPDate.date)
    retryAfter = response.retryAfter
    content = Self.content(response.body)
  }

  /// The fields; `nil` if the content is anything else.
  var fields: AnswerFields? { if case .fields(let fields) = content { fields } else { nil } }

  /// Whether the server did what it was asked.
  var isSuccess: Bool { (200..<300).contains(status) }

  private static func content(_ body: Data) -> Content {
    struct Anything: Decodable {
      init(from decoder: any Decoder) {}
    }
    // Some servers write a byte order mark in front.
    let body = body.starts(with: [0xEF, 0xBB, 0xBF]) ? Data(body.dropFirst(3)) : body
    // What fails to be read is told apart below; Foundation's errors may quote it.
    if let fields = try? JSONDecoder().decode(AnswerFields.self, from: body) {
      return .fields(fields)
    }
    if let fields = AnswerFields(torn: body) { return .fields(fields) }
    if (try? JSONDecoder().decode(Anything.self, from: body)) != nil { return .otherJSON }
    return AnswerFields(form: body).map(Content.fields) ?? (body.isEmpty ? .nothing : .other)
  }

  // MARK: - Errors

  /// The error of an answer that is no success.
  var failure: WebLoginError {
    if status >= 500 || status == 429 { return unavailable }
    return refusal ?? misplaced ?? invalid
  }

  /// The server's refusal, if the answer has one; some servers send it with a status of success.
  var refusal: WebLoginError? {
    // The second is Supabase's name for it.
    guard let fields, let error = fields.text("error") ?? fields.text("error_code") else {
      return nil
    }
    let refusal = WebLoginError.Refusal(
      error: error, text: fields.text("error_description"), suberror: fields.text("suberror"))
    return .ofBusyServer(server, refusal, retryAfter: retryAfter)
      ?? WebLoginError(
        .refused, "\(server) refused", remedy: Self.remedies[refusal.error], refusal: refusal)
  }

  /// The error of a server that is broken or busy.
  var unavailable: WebLoginError {
    WebLoginError(
      .unavailable, "\(server) cannot answer now (status \(status))", retryAfter: retryAfter)
  }

  /// The error of a server that has nothing at the address, or has it elsewhere; `nil` for others.
  private var misplaced: WebLoginError? {
    let fault: String? =
      switch status {
      case 301, 308: "\(place) has moved (status \(status)); no tokens are sent to another address"
      case 404, 405, 410, 415: "there is no such service at \(place) (status \(status))"
      default: nil
      }
    return fault.map { WebLoginError(.missingEndpoint, $0, remedy: "Check the server's addresses") }
  }

  /// The error of an answer that does not follow the protocol.
  var invalid: WebLoginError {
    switch content {
    case .fields where !isSuccess: incomplete("does not say what is wrong in a way known here")
    case .fields: incomplete("has nothing that was asked for")
    case .otherJSON: incomplete("is JSON, but not an object")
    case .nothing where (400...403).contains(status): incomplete("does not say what is wrong")
    case .nothing where !isRedirect: invalid("is empty (status \(status))")
    case .nothing,
      .other where isRedirect:
      invalid("sends to another address (status \(status)), which gets no tokens")
    case .other: invalid("is not from an authorization server (status \(status), not JSON)")
    }
  }

  private var isRedirect: Bool { (300..<400).contains(status) }

  private func invalid(_ fault: String) -> WebLoginError {
    WebLoginError(
      .invalidResponse, "the answer of \(server) \(fault)",
      remedy: "Check the server's address, and whether the network requires its own login, and try "
        + "again", wasAccepted: isSuccess)
  }

  /// Returns the error of an answer with a field that is missing or unusable.
  ///
  /// - Parameter fault: What is wrong with the answer: `has no access_token`.
  /// - Returns: The error.
  func incomplete(_ fault: String) -> WebLoginError {
    WebLoginError(
      .incompleteResponse, "the answer of \(server) (status \(status)) \(fault)",
      remedy: "Check the server's address, or report it to those who run the server",
      wasAccepted: isSuccess)
  }

  static let remedies = [
    "invalid_grant": "Log in again",
    "invalid_client": "Check the client ID, and the secret if there is one",
    "unauthorized_client": "Allow this grant for the client at the server",
    "unsupported_grant_type": "Allow the grant at the server",
    "invalid_scope": "Ask for scopes that the server supports",
    "invalid_target": "Ask for a resource that the server knows",
  ]
}

extension WebLoginError {
  /// Returns the error of a server that says that it is busy or broken (RFC 6749, section 4.1.2.1);
  /// `nil` for another refusal.
  static func ofBusyServer(
    _ server: String, _ refusal: Refusal, retryAfter: Duration? = nil
  ) -> WebLoginError? {
    guard ["temporarily_unavailable", "server_error"].contains(refusal.error) else { return nil }
    return WebLoginError(
      .unavailable, "\(server) cannot answer now", refusal: refusal, retryAfter: retryAfter)
  }
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
