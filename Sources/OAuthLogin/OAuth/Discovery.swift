import Foundation

/// The request for a server's addresses.
struct Discovery {
  let issuer: String
  let http: any OAuthHTTPClient

  /// Asks at each address where servers have their metadata, until one has it.
  ///
  /// - Throws: `invalidConfiguration`, `invalidMetadata`, `noMetadata`, `unsupported`,
  ///   `unavailable`, or the errors of sending the requests.
  func find() async throws(WebLoginError) -> AuthorizationServer {
    let base = try ServerAddress.parse(issuer, called: "issuer")
    guard base.query() == nil else {
      throw WebLoginError(.invalidConfiguration, "an issuer has no query")
    }
    guard !base.path().contains("/.well-known/") else {
      throw WebLoginError(
        .invalidConfiguration, "that is the address of a server's metadata, not its issuer",
        remedy: "Write the issuer as the metadata has it, which is without /.well-known/")
    }
    var unusable: WebLoginError?
    var unanswered: WebLoginError?
    var answers: [String] = []
    for place in Self.places(of: issuer, base) {
      let answer: ServerAnswer
      do throws(WebLoginError) {
        answer = try await self.answer(at: place)
      } catch {
        // Another place of the same server has the same name, port, certificate and proxy.
        guard (error.underlying as? OAuthHTTPError)?.wasSent ?? false else { throw error }
        unanswered = unanswered ?? error
        continue
      }
      if answer.isSuccess, let fields = answer.fields, Self.isMetadata(fields) {
        do throws(WebLoginError) {
          return try server(fields)
        } catch {
          unusable = unusable ?? error
        }
      } else if answer.status >= 500 || answer.status == 429 {
        unanswered = unanswered ?? answer.unavailable
      } else {
        answers.append(Self.description(of: answer))
      }
    }
    throw unusable ?? unanswered
      ?? WebLoginError(
        .noMetadata,
        "\(ServerAddress.name(of: base)) has no metadata for this issuer (it answered with status "
          + answers.joined(separator: ", ") + ")",
        remedy: "Check the issuer, or give the server's addresses yourself")
  }

  private func answer(at place: URL) async throws(WebLoginError) -> ServerAnswer {
    try await http.answer(
      to: OAuthHTTPRequest(method: "GET", url: place, headers: ["Accept": "application/json"]),
      isAboutLogin: false)
  }

  /// Returns whether an answer is a server's metadata: one without may answer with anything.
  private static func isMetadata(_ fields: AnswerFields) -> Bool {
    fields.text("issuer") != nil || fields.text("token_endpoint") != nil
  }

  private static func description(of answer: ServerAnswer) -> String {
    switch answer.status {
    case 300..<400: "\(answer.status) to another address"
    case 200..<300: "\(answer.status) without metadata"
    default: "\(answer.status)"
    }
  }

  // MARK: - The answer

  private func server(_ fields: AnswerFields) throws(WebLoginError) -> AuthorizationServer {
    let named = fields.text("issuer") ?? ""
    // Byte for byte (RFC 8414, section 3.3); otherwise one server could speak for another.
    guard named.utf8.elementsEqual(issuer.utf8) else { throw mismatch(named) }
    if let methods = fields.texts("code_challenge_methods_supported"), !methods.contains("S256") {
      throw WebLoginError(
        .unsupported,
        "the server does not support S256 proof keys, which protect codes")
    }
    guard let tokenEndpoint = fields.text("token_endpoint") else {
      throw WebLoginError(.invalidMetadata, "the server names no token endpoint")
    }
    /// An endpoint that not every login needs; without a valid address it cannot be used.
    func optional(_ name: String) -> String? {
      let text = fields.text(name)
      return text.flatMap { try? ServerAddress.parse($0, called: name) } == nil ? nil : text
    }
    do throws(WebLoginError) {
      return try AuthorizationServer(
        issuer: issuer, authorizationEndpoint: optional("authorization_endpoint"),
        tokenEndpoint: tokenEndpoint,
        deviceAuthorizationEndpoint: optional("device_authorization_endpoint"),
        revocationEndpoint: optional("revocation_endpoint"),
        namesItselfInResponses: fields.flag("authorization_response_iss_parameter_supported"))
    } catch {
      throw WebLoginError(.invalidMetadata, error.reason, remedy: error.remedy)
    }
  }

  /// Returns the error for metadata of another issuer.
  private func mismatch(_ named: String) -> WebLoginError {
    let shown = PlainText.shown(named)
    let remedy: String
    if named.isEmpty {
      remedy = "Give the server's addresses yourself"
    } else if let start = named.firstIndex(of: "{") {
      // Microsoft's addresses for any tenant, for example.
      let end = named[start...].firstIndex(of: "}") ?? named.index(before: named.endIndex)
      remedy =
        "The server has several tenants: write the issuer with the name or the identifier of "
        + "yours, where the server has \(PlainText.shown(String(named[start...end])))"
    } else {
      remedy = "If that is the server you mean, write the issuer as it does, byte for byte"
    }
    return WebLoginError(
      .invalidMetadata,
      "the metadata for the issuer \(PlainText.shown(issuer)) "
        + (named.isEmpty ? "names no issuer" : "names another one, \(shown)"), remedy: remedy)
  }

  // MARK: - Places

  /// Returns the addresses that RFC 8414 and OpenID Connect Discovery prescribe, and those of
  /// servers that put the path of the issuer where the other one has it.
  private static func places(of issuer: String, _ base: URL) -> [URL] {
    let path = base.path(percentEncoded: true)
    let trimmed = path.hasSuffix("/") ? String(path.dropLast()) : path
    guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: false) else { return [] }
    var paths = [
      "/.well-known/oauth-authorization-server\(trimmed)",
      "\(trimmed)/.well-known/openid-configuration",
    ]
    if !trimmed.isEmpty {
      paths += [
        "\(trimmed)/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration\(trimmed)",
      ]
    }
    return paths.compactMap { path in
      parts.percentEncodedPath = path
      return parts.url
    }
  }
}
