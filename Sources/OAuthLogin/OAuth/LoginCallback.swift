import SessionToolsBase

/// The result that the browser brought back (RFC 6749, sections 4.1.2 and 4.1.2.1).
///
/// Every login in a browser is judged here, whether it returns to a port of this machine or to a
/// web service.
enum LoginCallback: Sendable {
  case code(SecretBytes)
  case denied(WebLoginError.Refusal)

  /// What a callback must agree with: values of the login's start.
  struct Expectation: Sendable {
    let state: SecretBytes
    let issuer: String
    /// Whether the server has declared that it names itself (RFC 9207).
    let namesItself: Bool
  }

  /// Returns what the browser brought back; `nil` for anything but the answer to this login.
  static func judge(
    _ query: String, _ expected: Expectation
  ) -> Result<LoginCallback, WebLoginError>? {
    let fields = Form.Fields(query)
    // The comparison takes the same time however much of the state is right.
    guard let given = fields["state"], SecretBytes(utf8: given) == expected.state else {
      return nil
    }
    if let fault = issuerFault(fields, expected) { return .failure(fault) }
    // Some servers send both fields, and leave one of them empty.
    let (code, error) = (fields["code"] ?? "", fields["error"] ?? "")
    let isClear = !fields.isAmbiguous("code") && !fields.isAmbiguous("error")
    switch (code.isEmpty, error.isEmpty) {
    case (false, true) where isClear: return .success(.code(SecretBytes(utf8: code)))
    case (_, false) where isClear:
      return .success(
        .denied(WebLoginError.Refusal(error: error, text: fields["error_description"])))
    default:
      return .failure(
        WebLoginError(
          .incompleteResponse,
          "the browser came back from \(PlainText.shown(expected.issuer)) with neither one code "
            + "nor one error", remedy: "Report it to those who run the server"))
    }
  }

  /// Returns the error for an answer that may be another server's: RFC 9207, section 2.4.
  private static func issuerFault(
    _ fields: Form.Fields, _ expected: Expectation
  ) -> WebLoginError? {
    let shown = PlainText.shown(expected.issuer)
    if fields.isAmbiguous("iss") {
      return WebLoginError(
        .wrongIssuer,
        "the browser came back from two issuers at once, and the login began at \(shown)")
    }
    if let named = fields["iss"] {
      guard !named.utf8.elementsEqual(expected.issuer.utf8) else { return nil }
      return WebLoginError(
        .wrongIssuer,
        "the browser came back from the issuer \(PlainText.shown(named)), and the login began at "
          + shown,
        remedy: "If that is the same server, give its issuer as the server writes it, or ask those "
          + "who run it to write it the same everywhere")
    }
    guard expected.namesItself else { return nil }
    return WebLoginError(
      .wrongIssuer,
      "the browser came back without the name of the issuer \(shown), which its server promises")
  }

  /// Returns the code.
  ///
  /// - Parameter server: The server's name in messages.
  /// - Returns: The code.
  /// - Throws: `denied` when the person refused, or the server did so for them; `unavailable` when
  ///   the server says that it is busy or broken.
  func code(at server: String) throws(WebLoginError) -> SecretBytes {
    switch self {
    case .code(let code): return code
    case .denied(let refusal):
      throw WebLoginError.ofBusyServer(server, refusal)
        ?? WebLoginError(
          .denied, "the login was not allowed", remedy: ServerAnswer.remedies[refusal.error],
          refusal: refusal)
    }
  }
}
