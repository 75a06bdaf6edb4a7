import Foundation
import SessionToolsBase

/// The request with which a login in a browser begins, whatever the browser returns to (RFC 6749,
/// section 4.1.1; RFC 7636, section 4.3).
package struct AuthorizationRequest {
  /// The parameters that are set here; a program's own of the same names are ignored.
  package static let ownParameters: Set = [
    "response_type", "client_id", "redirect_uri", "state", "code_challenge",
    "code_challenge_method", "scope", "nonce", "resource",
  ]

  let server: AuthorizationServer
  let clientID: String
  /// The address that the browser returns to, byte for byte as it is sent later with the code.
  let redirectAddress: String
  let scopes: [String]
  let parameters: [String: String]
  let resources: [String]
  let state: String
  let verifier: String
  let nonce: String?

  /// Returns the address that the browser is sent to.
  ///
  /// - Throws: `missingEndpoint` when the server has no authorization endpoint.
  func address() throws(WebLoginError) -> URL {
    guard let endpoint = server.authorizationEndpoint,
      var parts = URLComponents(url: endpoint, resolvingAgainstBaseURL: false)
    else {
      throw WebLoginError(
        .missingEndpoint,
        "\(ServerAddress.name(of: server.tokenEndpoint)) names no usable address for logins in a "
          + "browser",
        remedy: "Log in with a device code, or give that address yourself")
    }
    var fields = parameters.filter { !Self.ownParameters.contains($0.key) }
      .sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    fields += [
      ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirectAddress),
      ("state", state), ("code_challenge", ProofKey.challenge(of: SecretBytes(utf8: verifier))),
      ("code_challenge_method", "S256"),
    ]
    if !scopes.isEmpty { fields.append(("scope", scopes.joined(separator: " "))) }
    if let nonce { fields.append(("nonce", nonce)) }
    fields += resources.map { ("resource", $0) }
    let query = [parts.percentEncodedQuery, Form.encode(fields)].compactMap(\.self)
    parts.percentEncodedQuery = query.filter { !$0.isEmpty }.joined(separator: "&")
    guard let url = parts.url else {
      throw WebLoginError(
        .invalidConfiguration, "the authorization endpoint is not a valid address")
    }
    return url
  }
}
