public import Foundation
public import SessionToolsBase

/// Logs people in to a web service: authorization code with a proof key (RFC 6749, 7636, 9700).
///
/// ```swift
/// let login = try WebServiceLogin(
///   client: client, redirectAddress: "https://app.example.com/login/callback",
///   scopes: ["openid"], key: key)
/// // GET /login: answer 303, with the address as Location and the cookie as Set-Cookie.
/// let redirect = try await login.begin(returnTo: "/inbox")
/// // GET /login/callback
/// let result = try await login.finish(query: query, cookies: request.headers["Cookie"])
/// ```
///
/// One is made when the service starts, and used by all requests at the same time. It stores
/// nothing: what must be kept until the browser comes back is only in that browser, sealed in a
/// cookie, so any machine with the same key can finish the login. No login can be finished by its
/// state alone, which an attacker can put into a link (login CSRF).
///
/// <doc:AWebServiceThatLogsPeopleIn> has a whole program.
public struct WebServiceLogin: Sendable {
  /// The service, as the login server knows it.
  public let client: OAuthClient
  /// The address that the browser returns to.
  public let redirectAddress: String
  /// The scopes to ask for; with `openid`, there is an identity.
  public let scopes: [String]
  /// Further parameters for the server, such as `prompt` or `login_hint`; the parameters that this
  /// type sets itself are ignored here.
  public var parameters: [String: String] = [:]
  private let sealing: CookieSealing
  private let isSecure: Bool

  /// Where a login begins.
  public struct Redirect: Sendable {
    /// The address to send the browser to, with status 303 and this as the field `Location`.
    public let address: URL
    /// The cookie to set in the same answer.
    public let cookie: LoginCookie
    /// Cookies to set as well, which remove older logins of this browser.
    public let expiredCookies: [LoginCookie]
  }

  /// How many logins a browser may have under way.
  private static let maximumPendingCount = 4

  /// What comes of a login.
  public struct Outcome: Sendable {
    /// The tokens.
    public let credential: OAuthCredential
    /// Who logged in; `nil` without the scope `openid`.
    public let identity: VerifiedIdentity?
    /// Where to send the browser now: what ``begin(returnTo:user:maxAge:cookies:)`` was given.
    public let returnTo: String
    /// The cookie to set in the same answer, which removes that of the login.
    public let expiredCookie: LoginCookie
  }

  /// Describes the logins of a service; sends nothing.
  ///
  /// - Parameters:
  ///   - client: The service, as the login server knows it.
  ///   - redirectAddress: The address that the browser returns to, byte for byte as registered:
  ///     `https`, or `http` on this machine itself. Never make it of a request's `Host`. A service
  ///     with several login servers has one for each (RFC 9700, section 4.4.2).
  ///   - scopes: The scopes to ask for.
  ///   - key: 32 random bytes that all machines of the service have, and no one else.
  ///   - formerKeys: Keys that other machines may still seal with, or sealed with until 10 min ago.
  /// - Throws: `invalidConfiguration`.
  public init(
    client: OAuthClient, redirectAddress: String, scopes: [String], key: SecretBytes,
    formerKeys: [SecretBytes] = []
  ) throws(WebLoginError) {
    let url = try ServerAddress.parse(redirectAddress, called: "redirect address")
    guard redirectAddress.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw WebLoginError(
        .invalidConfiguration, "the redirect address must be ASCII without blanks",
        remedy: "Percent-encode it, as it is registered at the server")
    }
    let keys = [key] + formerKeys
    guard keys.allSatisfy({ $0.byteCount == CookieSealing.keyByteCount }) else {
      throw WebLoginError(
        .invalidConfiguration,
        "a key of logins must have \(CookieSealing.keyByteCount) bytes",
        remedy: "Make one with: head -c 32 /dev/urandom")
    }
    self.client = client
    self.redirectAddress = redirectAddress
    self.scopes = scopes
    isSecure = url.scheme?.lowercased() == "https"
    sealing = CookieSealing(
      keys: keys,
      // A cookie of another client, issuer or redirect address does not open.
      purpose: ["WebServiceLogin 1", client.clientID, client.issuer, redirectAddress]
        + client.resources)
  }

  // MARK: - Beginning

  /// Begins a login.
  ///
  /// Nothing is stored, so requests without end cost the service no memory. Each tab of a browser
  /// has a login of its own. The first call asks for the server's addresses.
  ///
  /// - Parameters:
  ///   - returnTo: Where the person goes after the login: a path of this service, perhaps with a
  ///     query, in printable ASCII. It begins with one `/` and contains no `//` in its path and no
  ///     `\`, so that it cannot lead to another host (RFC 9700, section 4.11).
  ///   - user: The user that is logged in already, to whose account the login is added;
  ///     ``finish(query:cookies:user:)`` must be given the same.
  ///   - maxAge: How long ago the person may have authenticated at the server; with `openid` only.
  ///   - cookies: The values of the request's `Cookie` fields, each as it is: of the logins in
  ///     them, the newest three remain.
  /// - Returns: The answer to send.
  /// - Throws: `invalidConfiguration` for one of the parameters, or when the cookie would have more
  ///   than 4,096 bytes; `missingEndpoint`, or the errors of asking for the server's addresses.
  public func begin(
    returnTo: String = "/", user: String? = nil, maxAge: Duration? = nil, cookies: [String] = []
  ) async throws(WebLoginError) -> Redirect {
    try ReturnAddress.check(returnTo)
    var parameters = parameters
    guard parameters["max_age"] == nil else {
      throw WebLoginError(
        .invalidConfiguration, "the parameter max_age would not be checked",
        remedy: "Give it as maxAge")
    }
    if let maxAge {
      guard maxAge >= .zero, scopes.askForIdentity else {
        throw WebLoginError(
          .invalidConfiguration,
          "the age of the authentication can be limited to 0 s or more, and only with the scope "
            + "openid")
      }
      parameters["max_age"] = String(maxAge.components.seconds)
    }
    let server = try await client.server()
    let pending = PendingWebLogin(
      state: ProofKey.randomWord().text, verifier: ProofKey.randomWord().text,
      nonce: scopes.askForIdentity ? ProofKey.randomWord().text : nil,
      tokenEndpoint: server.tokenEndpoint, namesItself: server.namesItselfInResponses,
      scopes: scopes, returnTo: returnTo, user: user.map(PendingWebLogin.digest(of:)),
      maximumAge: parameters["max_age"].flatMap(Int.init),
      begin: Int(client.clock.now.timeIntervalSince1970))
    let address = try AuthorizationRequest(
      server: server, clientID: client.clientID, redirectAddress: redirectAddress, scopes: scopes,
      parameters: parameters, resources: client.resources, state: pending.state,
      verifier: pending.verifier, nonce: pending.nonce
    ).address()
    let cookie = LoginCookie(
      state: pending.state, isSecure: isSecure, value: try sealing.seal(pending),
      lifetime: PendingWebLogin.lifetime)
    guard cookie.setCookie.utf8.count <= LoginCookie.maximumByteCount else {
      throw WebLoginError(
        .invalidConfiguration,
        "the cookie of the login would have more than \(LoginCookie.maximumByteCount) bytes, which "
          + "browsers drop", remedy: "Return to a shorter address, or ask for fewer scopes")
    }
    return Redirect(
      address: address, cookie: cookie,
      expiredCookies: LoginCookie.surplus(
        in: cookies, isSecure: isSecure, keeping: Self.maximumPendingCount - 1
      ) { sealing.open($0)?.begin })
  }

  // MARK: - Finishing

  /// Finishes a login: checks what the browser brought back, and exchanges the code.
  ///
  /// A login is good for 10 min, and 60 s more for clocks of machines that differ. It is good once:
  /// ``Outcome/expiredCookie`` removes it from the browser, and the server refuses a code that was
  /// used. A refusal before the code is exchanged sends nothing to the server.
  ///
  /// - Parameters:
  ///   - query: The raw query of the callback: what follows its `?`.
  ///   - cookies: The values of the request's `Cookie` fields, each as it is.
  ///   - user: The user that is logged in, if ``begin(returnTo:user:maxAge:cookies:)`` was given
  ///     one.
  /// - Returns: What comes of the login.
  /// - Throws: `nothingPending` when this browser has no login with the callback's state: it is
  ///   finished already, older than 10 min, or began in another browser, such as an attacker's;
  ///   `otherLogin` when its cookie is not of this service or of another user; `timedOut`;
  ///   `wrongIssuer`; `denied` when the person refused; `incompleteResponse` for a callback without
  ///   one code, or an answer of the server without what is needed, such as an identity token that
  ///   is as it must be; `unsupported`, `refused`, `unavailable`, `invalidResponse`, or the errors
  ///   of sending the request.
  public func finish(
    query: String, cookies: [String], user: String? = nil
  ) async throws(WebLoginError) -> Outcome {
    guard let state = Form.Fields(query)["state"] else { throw Self.nothingPending }
    let cookies = LoginCookie.values(
      of: LoginCookie.name(of: state, isSecure: isSecure), in: cookies)
    let (pending, callback) = try pendingLogin(of: query, cookies)
    guard pending.isValid(at: client.clock.now) else {
      throw WebLoginError(
        .timedOut, "the login in the browser was not finished in time",
        remedy: "Start it again; if it has just begun, set the clocks of the machines")
    }
    guard pending.user == user.map(PendingWebLogin.digest(of:)) else {
      throw WebLoginError(
        .otherLogin, "the login began with another user logged in", remedy: "Start a new login")
    }
    let code = try callback.get().code(at: ServerAddress.name(of: pending.tokenEndpoint))
    let credential = try await client.credential(
      exchanging: code, at: pending.tokenEndpoint, redirectAddress: redirectAddress,
      verifier: pending.verifier, asked: pending.scopes, nonce: pending.nonce,
      authenticatedAfter: pending.authenticatedAfter)
    return Outcome(
      credential: credential, identity: credential.identity, returnTo: pending.returnTo,
      expiredCookie: LoginCookie(state: state, isSecure: isSecure, value: "", lifetime: 0))
  }

  /// Returns the login that a callback belongs to, and what the browser brought back.
  ///
  /// - Throws: `nothingPending` or `otherLogin`.
  private func pendingLogin(
    of query: String, _ cookies: [Substring]
  ) throws(WebLoginError) -> (PendingWebLogin, Result<LoginCallback, WebLoginError>) {
    let logins = cookies.compactMap(sealing.open)
    for login in logins {
      let expected = LoginCallback.Expectation(
        state: SecretBytes(utf8: login.state), issuer: client.issuer,
        namesItself: login.namesItself)
      if let callback = LoginCallback.judge(query, expected) { return (login, callback) }
    }
    guard logins.isEmpty, !cookies.isEmpty else { throw Self.nothingPending }
    throw WebLoginError(
      .otherLogin,
      "the cookie of the login was not made with the keys of this service, or for another client, "
        + "server or redirect address",
      remedy: "Start a new login; if this recurs, give all machines the same keys and the same "
        + "configuration")
  }

  private static var nothingPending: WebLoginError {
    WebLoginError(
      .nothingPending,
      "this browser has no login that the callback belongs to: it is finished, or older than "
        + "10 min, or began in another browser", remedy: "Start a new login")
  }
}

extension WebServiceLogin.Redirect: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// A redacted description, without the state.
  public var description: String { "[redirect to a login]" }
  /// A redacted description, without the state.
  public var debugDescription: String { description }
  /// No children, so that a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
