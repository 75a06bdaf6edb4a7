import Foundation
import SessionToolsBase
import WebLogin

/// A login as it is stored: the tokens, and the server and client to refresh them with.
struct StoredLogin: Codable, ExpiringItem, Sendable {
  var credential: OAuthCredential
  let issuer: String
  let clientID: String
  /// The server's addresses, if they were given; otherwise the server is asked for them.
  let server: AuthorizationServer?
  /// The resources that the tokens are for (RFC 8707).
  let resources: [String]?
  /// The scopes that were asked for.
  let scopes: [String]?
  /// Further options that the same login needs, as they are typed.
  let furtherOptions: [String]?

  init(_ credential: OAuthCredential, with command: LoginCommand) throws {
    self.credential = credential
    issuer = command.server.issuer
    clientID = command.server.clientID
    server = try command.server.addresses()
    resources = command.server.resources
    scopes = command.scopes
    furtherOptions =
      (command.device ? ["--device"] : []) + command.redirect.options
      + command.server.parameter.filter { !$0.hasPrefix("resource=") }
      .flatMap { ["--parameter", $0] }
  }

  var expirationDate: Date? { credential.expirationDate }
  var issueDate: Date? { credential.issueDate }

  /// The client to refresh the tokens with.
  var client: OAuthClient {
    guard let server else {
      return OAuthClient(issuer: issuer, clientID: clientID, resources: resources ?? [])
    }
    return OAuthClient(server: server, clientID: clientID, resources: resources ?? [])
  }

  /// The options of `session-tools login` that make the same login again.
  var options: [String] {
    var options = ["--issuer", issuer, "--client-id", clientID]
    let addresses: [(String, URL?)] = [
      ("--authorization-endpoint", server?.authorizationEndpoint),
      ("--token-endpoint", server?.tokenEndpoint),
      ("--device-endpoint", server?.deviceAuthorizationEndpoint),
      ("--revocation-endpoint", server?.revocationEndpoint),
    ]
    for case (let name, let address?) in addresses { options += [name, address.absoluteString] }
    for scope in scopes ?? [] { options += ["--scope", scope] }
    for resource in resources ?? [] { options += ["--resource", resource] }
    return options + (furtherOptions ?? [])
  }
}
