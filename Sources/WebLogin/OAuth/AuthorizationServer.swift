public import Foundation

/// The endpoints of an authorization server (RFC 8414; OpenID Connect Discovery 1.0).
///
/// ``OAuthClient`` finds them by the issuer. For a server without metadata, give the addresses.
public struct AuthorizationServer: Hashable, Codable, Sendable {
  /// The server's name, which is an address.
  public let issuer: String
  /// The address that the browser is sent to; `nil` for a server that supports only device logins.
  public let authorizationEndpoint: URL?
  /// The address where codes and refresh tokens are exchanged.
  public let tokenEndpoint: URL
  /// The address where a login on another device begins (RFC 8628), if supported.
  public let deviceAuthorizationEndpoint: URL?
  /// The address where tokens are revoked (RFC 7009), if supported.
  public let revocationEndpoint: URL?
  /// Whether the server names its issuer when the browser returns (RFC 9207).
  public let namesItselfInResponses: Bool

  /// Describes a server by its addresses.
  ///
  /// - Throws: `invalidConfiguration` for an address that is neither `https` nor on this machine.
  public init(
    issuer: String, authorizationEndpoint: String?, tokenEndpoint: String,
    deviceAuthorizationEndpoint: String? = nil, revocationEndpoint: String? = nil,
    namesItselfInResponses: Bool = false
  ) throws(WebLoginError) {
    func address(_ text: String?, _ name: String) throws(WebLoginError) -> URL? {
      guard let text else { return nil }
      return try ServerAddress.parse(text, called: name)
    }
    self.issuer = issuer
    self.authorizationEndpoint = try address(authorizationEndpoint, "authorization endpoint")
    self.tokenEndpoint = try ServerAddress.parse(tokenEndpoint, called: "token endpoint")
    self.deviceAuthorizationEndpoint = try address(
      deviceAuthorizationEndpoint, "device authorization endpoint")
    self.revocationEndpoint = try address(revocationEndpoint, "revocation endpoint")
    self.namesItselfInResponses = namesItselfInResponses
  }
}

/// The request for a server's addresses.
struct Discovery {
  private struct Metadata: Decodable {
    let issuer: String
    var authorization_endpoint: String?
    var token_endpoint: String?
    var device_authorization_endpoint: String?
    var revocation_endpoint: String?
    var code_challenge_methods_supported: [String]?
    var authorization_response_iss_parameter_supported: Bool?
  }

  let issuer: String
  let http: any OAuthHTTPClient

  /// Asks at the address of RFC 8414, and then at the one of OpenID Connect.
  ///
  /// - Throws: `invalidConfiguration`, `invalidMetadata`, `unsupported`, `unreachable`,
  ///   `unavailable`, `responseTooLarge` or `cancelled`.
  func find() async throws(WebLoginError) -> AuthorizationServer {
    let base = try ServerAddress.parse(issuer, called: "issuer")
    guard base.query() == nil else {
      throw WebLoginError(.invalidConfiguration, "an issuer has no query")
    }
    for address in Self.addresses(of: issuer, base) {
      let request = OAuthHTTPRequest(
        method: "GET", url: address, headers: ["Accept": "application/json"])
      let response = try await http.answer(to: request, isAboutLogin: false)
      if response.status >= 500 || response.status == 429 {
        throw WebLoginError(unavailable: response)
      }
      // A server without this document may answer with some page.
      guard response.status == 200,
        let metadata = try? JSONDecoder().decode(Metadata.self, from: response.body)
      else { continue }
      return try server(metadata)
    }
    throw WebLoginError(
      .invalidMetadata, "there is no server metadata at the issuer's address",
      remedy: "Check the issuer, or give the server's addresses yourself")
  }

  private func server(_ metadata: Metadata) throws(WebLoginError) -> AuthorizationServer {
    // Byte for byte (RFC 8414, section 3.3); otherwise one server could speak for another.
    guard metadata.issuer.utf8.elementsEqual(issuer.utf8) else {
      throw WebLoginError(
        .invalidMetadata, "the server names another issuer",
        remedy: "Write the issuer as the server does, with or without a slash at its end")
    }
    if let methods = metadata.code_challenge_methods_supported, !methods.contains("S256") {
      throw WebLoginError(
        .unsupported,
        "the server does not support S256 proof keys, which protect codes")
    }
    guard let tokenEndpoint = metadata.token_endpoint else {
      throw WebLoginError(.invalidMetadata, "the server names no token endpoint")
    }
    do throws(WebLoginError) {
      return try AuthorizationServer(
        issuer: issuer, authorizationEndpoint: metadata.authorization_endpoint,
        tokenEndpoint: tokenEndpoint,
        deviceAuthorizationEndpoint: metadata.device_authorization_endpoint,
        revocationEndpoint: metadata.revocation_endpoint,
        namesItselfInResponses: metadata.authorization_response_iss_parameter_supported ?? false)
    } catch {
      throw WebLoginError(.invalidMetadata, error.reason, remedy: error.remedy)
    }
  }

  private static func addresses(of issuer: String, _ base: URL) -> [URL] {
    let path = base.path(percentEncoded: true)
    let trimmed = path.hasSuffix("/") ? String(path.dropLast()) : path
    guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: false) else { return [] }
    return [
      "/.well-known/oauth-authorization-server\(trimmed)",
      "\(trimmed)/.well-known/openid-configuration",
    ].compactMap { path in
      parts.percentEncodedPath = path
      return parts.url
    }
  }
}
