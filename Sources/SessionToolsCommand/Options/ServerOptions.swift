import ArgumentParser
import WebLogin

/// The authorization server, and the program as it knows it.
struct ServerOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The server, as it names itself.", valueName: "url"))
  var issuer: String

  @Option(
    name: .customLong("client-id"),
    help: ArgumentHelp("The program, as the server knows it.", valueName: "id"))
  var clientID: String

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The service that the token is for (RFC 8707); may be given several times.",
      valueName: "url"))
  var resource: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A further parameter for the server, such as prompt=login; may be given several times.",
      valueName: "name=value"))
  var parameter: [String] = []

  @Option(
    help: ArgumentHelp(
      "Where tokens are issued, for a server without metadata; the other addresses below are for "
        + "such a server, too.", valueName: "url"))
  var tokenEndpoint: String?

  @Option(help: ArgumentHelp("Where the browser begins.", valueName: "url"))
  var authorizationEndpoint: String?

  @Option(help: ArgumentHelp("Where a login on another device begins.", valueName: "url"))
  var deviceEndpoint: String?

  @Option(help: ArgumentHelp("Where tokens are revoked.", valueName: "url"))
  var revocationEndpoint: String?

  func validate() throws {
    let others = [authorizationEndpoint, deviceEndpoint, revocationEndpoint]
    guard tokenEndpoint != nil || others.allSatisfy({ $0 == nil }) else {
      throw ValidationError("Give --token-endpoint with the other addresses of the server.")
    }
    guard tokenEndpoint == nil || authorizationEndpoint != nil || deviceEndpoint != nil else {
      throw ValidationError(
        "Give --authorization-endpoint or --device-endpoint with --token-endpoint.")
    }
    _ = try parameters()
  }

  /// The services that the token is for, however they were given.
  var resources: [String] {
    resource
      + parameter.compactMap { $0.hasPrefix("resource=") ? String($0.dropFirst(9)) : nil }
  }

  /// Returns the further parameters by name.
  ///
  /// - Throws: `ValidationError`.
  func parameters() throws -> [String: String] {
    var parameters: [String: String] = [:]
    for text in parameter where !text.hasPrefix("resource=") {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw ValidationError("--parameter takes NAME=VALUE, not '\(text)'.")
      }
      let name = String(parts[0])
      guard !AuthorizationRequest.ownParameters.contains(name) else {
        throw ValidationError("--parameter cannot set \(name), which the login itself sets.")
      }
      guard parameters.updateValue(String(parts[1]), forKey: name) == nil else {
        throw ValidationError("--parameter has \(name) twice.")
      }
    }
    return parameters
  }

  /// Returns the server's addresses if they were given; otherwise the server is asked for them.
  ///
  /// - Throws: `invalidConfiguration`.
  func addresses() throws(WebLoginError) -> AuthorizationServer? {
    guard let tokenEndpoint else { return nil }
    return try AuthorizationServer(
      issuer: issuer, authorizationEndpoint: authorizationEndpoint, tokenEndpoint: tokenEndpoint,
      deviceAuthorizationEndpoint: deviceEndpoint, revocationEndpoint: revocationEndpoint)
  }

  /// Returns the client.
  ///
  /// - Throws: `invalidConfiguration`.
  func client() throws(WebLoginError) -> OAuthClient {
    guard let server = try addresses() else {
      return OAuthClient(issuer: issuer, clientID: clientID, resources: resources)
    }
    return OAuthClient(server: server, clientID: clientID, resources: resources)
  }
}
