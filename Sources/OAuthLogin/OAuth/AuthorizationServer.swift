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
