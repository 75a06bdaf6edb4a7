import Foundation
public import SessionToolsBase
import Synchronization

/// A program as it is registered at an authorization server.
///
/// ```swift
/// let client = OAuthClient(issuer: "https://login.example.com", clientID: "mail")
/// let session = UserSession(
///   container: container, storageIdentifier: "login", refresher: client.refresher())
/// ```
///
/// Making a client sends nothing: it asks for the server's addresses when they are first needed,
/// and keeps them as long as it exists. Any number of tasks and threads may use it at the same
/// time.
public final class OAuthClient: Sendable {
  /// The server's name.
  public let issuer: String
  /// The program's name at the server.
  public let clientID: String
  /// The HTTP client that sends the requests.
  public let http: any OAuthHTTPClient
  /// The clocks: those of the machine, except in tests.
  public let clock: any SessionClock
  /// The addresses of the services that the tokens are for (RFC 8707), sent with every request for
  /// a login or for tokens; empty for servers that need none.
  public let resources: [String]
  /// Programs other than this one that an identity token may be for as well (OpenID Connect Core,
  /// section 3.1.3.7, point 3).
  public let trustedAudiences: [String]
  let authentication: ClientAuthentication
  private let metadata: Mutex<Metadata>

  private struct Metadata {
    /// The server's addresses, once they are known.
    var server: AuthorizationServer?
    /// The request for them that is under way.
    var request: Task<Result<AuthorizationServer, WebLoginError>, Never>?
  }

  /// Makes a client of the server with an issuer, which is asked for its addresses when they are
  /// needed.
  ///
  /// The addresses come from RFC 8414, or from OpenID Connect Discovery.
  ///
  /// - Parameters:
  ///   - issuer: The server's name, byte for byte as the server writes it.
  ///   - clientID: The program's name at the server.
  ///   - authentication: How the program authenticates; `none` for a program that people install.
  ///   - resources: The addresses of the services that the tokens are for (RFC 8707).
  ///   - trustedAudiences: The client IDs of programs that an identity token may be for as well.
  ///   - http: The HTTP client that sends the requests; with the product `WebLogin`, one on libcurl
  ///     by default.
  ///   - clock: The clocks.
  public init(
    issuer: String, clientID: String, authentication: ClientAuthentication = .none,
    resources: [String] = [], trustedAudiences: [String] = [],
    http: any OAuthHTTPClient, clock: any SessionClock = SystemSessionClock()
  ) {
    self.issuer = issuer
    self.clientID = clientID
    self.authentication = authentication
    self.resources = resources
    self.trustedAudiences = trustedAudiences
    self.http = http
    self.clock = clock
    metadata = Mutex(Metadata())
  }

  /// Makes a client of a server whose addresses are given; it does not ask for them.
  public init(
    server: AuthorizationServer, clientID: String, authentication: ClientAuthentication = .none,
    resources: [String] = [], trustedAudiences: [String] = [],
    http: any OAuthHTTPClient, clock: any SessionClock = SystemSessionClock()
  ) {
    issuer = server.issuer
    self.clientID = clientID
    self.authentication = authentication
    self.resources = resources
    self.trustedAudiences = trustedAudiences
    self.http = http
    self.clock = clock
    metadata = Mutex(Metadata(server: server))
  }

  /// The fields of requests that name the resources.
  var resourceFields: [(name: String, value: String)] { resources.map { ("resource", $0) } }

  /// Returns the server's addresses, which are asked for once, however many tasks need them.
  ///
  /// A cancelled task stops waiting; the request goes on, even if no one waits any more, and keeps
  /// the client until it ends. After an error the next call asks again.
  ///
  /// - Throws: `invalidConfiguration`, `invalidMetadata`, `noMetadata`, `unsupported`,
  ///   `unavailable`, or the errors of sending the requests, of which `cancelled` is one.
  public func server() async throws(WebLoginError) -> AuthorizationServer {
    let mayAsk = !Task.isCancelled
    let (known, request) = metadata.withLock { metadata in
      if metadata.server == nil, metadata.request == nil, mayAsk { metadata.request = discovery() }
      return (metadata.server, metadata.request)
    }
    if let known { return known }
    guard let request else { throw .ofCancellation }
    let answer = FirstAnswer<Result<AuthorizationServer, WebLoginError>>()
    Task { answer.give(await request.value) }
    return try await answer.value(whenCancelled: .failure(.ofCancellation)).get()
  }

  /// Asks for the addresses and keeps them.
  private func discovery() -> Task<Result<AuthorizationServer, WebLoginError>, Never> {
    // Detached, because it is not the first caller's alone: neither its task-local values, such as
    // a request's trace, nor its end.
    Task.detached { [self] in
      let result: Result<AuthorizationServer, WebLoginError>
      do throws(WebLoginError) {
        result = .success(try await Discovery(issuer: issuer, http: http).find())
      } catch {
        result = .failure(error)
      }
      metadata.withLock { $0 = Metadata(server: try? result.get()) }
      return result
    }
  }
}

/// How a client authenticates at the token endpoint (RFC 6749, section 2.3).
public enum ClientAuthentication: Sendable {
  /// By its client ID alone: a program that people install cannot keep a secret (RFC 8252, section
  /// 8.5), and is protected by its proof keys.
  case none
  /// With a secret in the `Authorization` field.
  case basic(secret: SecretBytes)
  /// With a secret in the body, for servers that accept it only there.
  case post(secret: SecretBytes)
}

extension ClientAuthentication: CustomReflectable {
  /// No children, so that a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
