import Foundation
public import SessionToolsBase
import Synchronization

/// A program, as an authorization server knows it.
///
/// ```swift
/// let client = OAuthClient(issuer: "https://login.example.com", clientID: "mail")
/// let session = UserSession(
///   container: container, storageIdentifier: "login", refresher: client.refresher())
/// ```
///
/// Making one sends nothing: the server's addresses are asked for when they are needed first, and
/// kept as long as this object. Any number of tasks and threads may use it at the same time.
public final class OAuthClient: Sendable {
  /// The server's name.
  public let issuer: String
  /// The program's name at the server.
  public let clientID: String
  /// What sends requests.
  public let http: any HTTPClient
  /// The clocks; those of the machine, but for tests.
  public let clock: any SessionClock
  let authentication: ClientAuthentication
  private let known: Mutex<AuthorizationServer?>

  /// A client of the server with an issuer, which is asked for its addresses when they are needed
  /// (RFC 8414, or OpenID Connect Discovery).
  ///
  /// - Parameters:
  ///   - issuer: The server's name, byte for byte as the server writes it.
  ///   - clientID: The program's name at the server.
  ///   - authentication: How the program says who it is; `none` for one that people install.
  ///   - http: What sends requests.
  ///   - clock: The clocks.
  public init(
    issuer: String, clientID: String, authentication: ClientAuthentication = .none,
    http: any HTTPClient = CurlHTTPClient(),
    clock: any SessionClock = SystemSessionClock()
  ) {
    self.issuer = issuer
    self.clientID = clientID
    self.authentication = authentication
    self.http = http
    self.clock = clock
    known = Mutex(nil)
  }

  /// A client of a server whose addresses are given; it is not asked for them.
  public init(
    server: AuthorizationServer, clientID: String, authentication: ClientAuthentication = .none,
    http: any HTTPClient = CurlHTTPClient(),
    clock: any SessionClock = SystemSessionClock()
  ) {
    issuer = server.issuer
    self.clientID = clientID
    self.authentication = authentication
    self.http = http
    self.clock = clock
    known = Mutex(server)
  }

  /// The server's addresses; asked for once.
  ///
  /// - Throws: `invalidConfiguration`, `invalidMetadata`, `unsupported`, `unreachable`,
  ///   `unavailable` or `cancelled`.
  public func server() async throws(WebLoginError) -> AuthorizationServer {
    if let server = known.withLock({ $0 }) { return server }
    let server: AuthorizationServer
    do throws(WebLoginError) {
      server = try await Discovery(issuer: issuer, http: http).find()
    } catch {
      // Whatever was to follow did not leave the machine.
      throw WebLoginError(
        error.code, error.reason, remedy: error.remedy, refusal: error.refusal,
        retryAfter: error.retryAfter, wasSent: false, underlying: error.underlying)
    }
    known.withLock { $0 = server }
    return server
  }
}

/// How a client says who it is at the token endpoint (RFC 6749, section 2.3).
public enum ClientAuthentication: Sendable {
  /// It only names itself: a program that people install can keep no secret of its own (RFC 8252,
  /// section 8.5), and is protected by its proof keys.
  case none
  /// With a secret in the `Authorization` field.
  case basic(secret: SecretBytes)
  /// With a secret in the body, for servers that take it nowhere else.
  case post(secret: SecretBytes)
}

extension ClientAuthentication: CustomReflectable {
  /// No children: a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
