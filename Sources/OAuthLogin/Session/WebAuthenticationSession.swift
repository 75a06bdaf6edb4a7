import Foundation
public import SessionToolsBase

/// A login in the person's browser: authorization code with a proof key (RFC 6749, 7636 and 8252).
///
/// ```swift
/// var login = WebAuthenticationSession(client: client, scopes: ["openid", "offline_access"])
/// login.pending = PendingLogin.Storage(try StoreContainer(store, service: "com.example.mail"))
/// try await session.signIn(try await login.start())
/// ```
///
/// The counterpart of `ASWebAuthenticationSession` on Apple's systems, with one difference: it has
/// no window and does not depend on the program's windows. Obscuring, hiding, locking or replacing
/// them does not end it. It ends when the browser returns, when its deadline passes, or when the
/// task is cancelled; no program is notified when a person closes the browser's window.
public struct WebAuthenticationSession: Sendable {
  /// The program, as the server knows it.
  public let client: OAuthClient
  /// The scopes to ask for; with `openid`, a nonce is also sent, and ``OAuthCredential/identity``
  /// says who logged in.
  public var scopes: [String]
  /// Further parameters for the server, such as `prompt` or `login_hint`; the parameters that this
  /// type sets itself are ignored here.
  public var parameters: [String: String] = [:]
  /// How long the person has: 5 min by default.
  public var timeout: Duration = .seconds(300)
  /// The path of the address that the browser returns to, as registered at the server.
  public var redirectPath = "/callback"
  /// The port of that address, for servers that allow only the registered one, although RFC 8252,
  /// section 7.3, requires them to allow any; `nil` for any port that is free.
  public var redirectPort: UInt16?
  /// Whether that address has the name `localhost` instead of `127.0.0.1`, for servers that allow
  /// only this name; RFC 8252, section 8.3, advises against it.
  public var redirectsToLocalhost = false
  /// The browser's opener.
  public var browser: any LoginBrowser
  /// Asks the person for the address that the browser returned to, for a browser on another
  /// machine, which cannot load the page of that address; `nil` by default.
  ///
  /// It is asked besides listening, with `nil`, and then with why the last answer was not the
  /// address, until the login ends: the first answer to it counts, wherever it comes from. The
  /// first question may come before ``browser`` has opened the login's address, or shown it. The
  /// address has the code in it, which is a secret until it is exchanged. `nil` as the answer ends
  /// the login. The task is cancelled when the login ends in another way.
  public var pastedAddress: (@Sendable (_ refusal: String?) async -> SecretBytes?)?
  /// Where the login is stored meanwhile; without it, the login cannot be resumed.
  public var pending: PendingLogin.Storage?

  /// Describes a login in a browser of the program's choice; opens nothing.
  public init(
    client: OAuthClient, scopes: [String] = [], pending: PendingLogin.Storage? = nil,
    browser: any LoginBrowser
  ) {
    self.client = client
    self.scopes = scopes
    self.pending = pending
    self.browser = browser
  }

  /// Opens the browser, waits until it returns, and gets the credential.
  ///
  /// Meanwhile, a port of `127.0.0.1` (or `[::1]`, on a machine without the other) is listened on;
  /// it is closed before this returns or throws. Requests other than the answer to this login, and
  /// a second such answer, get status 400 and change nothing. Blocks no thread of the cooperative
  /// pool.
  ///
  /// - Returns: The credential, for a session to store.
  /// - Throws: ``WebLoginError``: `denied`, `cancelled`, `timedOut`, `noBrowser`, `listenerFailed`,
  ///   `portTaken` for a ``redirectPort`` that another program has, `missingEndpoint`,
  ///   `unsupported`, `refused`, `unavailable`, `invalidResponse`, `incompleteResponse`, the errors
  ///   of sending the request, or those of asking for the server's addresses; and the errors of
  ///   ``pending`` when the login cannot be stored or removed.
  public func start() async throws -> OAuthCredential {
    let server = try await client.server()
    let listener = try listenAnywhere()
    return try await closing(listener) {
      let login = PendingLogin(
        state: ProofKey.randomWord().text, verifier: ProofKey.randomWord().text,
        nonce: scopes.askForIdentity ? ProofKey.randomWord().text : nil, server: server,
        clientID: client.clientID, scopes: scopes,
        parameters: parameters, resources: client.resources, family: listener.family,
        port: listener.port, redirectPath: redirectPath,
        isRedirectedToLocalhost: redirectsToLocalhost,
        deadline: LoginDeadline(in: timeout, by: client.clock))
      let address = try login.authorizationAddress()
      try await pending?.keep(login)
      return try await finish(login, listener, opening: address)
    }
  }

  /// Continues a login that another process of the program began before it was killed.
  ///
  /// It listens again on the port that the browser returns to. It does not open the browser,
  /// because the person is in the middle of the login there.
  ///
  /// - Parameter reopensBrowser: Whether to open the browser again, such as after a restart of the
  ///   machine.
  /// - Returns: The credential, for a session to store.
  /// - Throws: The errors of ``start()``; `nothingPending` when there is no login, or another
  ///   process has continued it; `otherLogin` when it belongs to another server or client;
  ///   `portTaken` when it cannot listen on the login's port; `timedOut` when the deadline has
  ///   passed. After `portTaken` and `otherLogin` the login is still pending, and the next
  ///   ``start()`` replaces it.
  public func resume(reopensBrowser: Bool = false) async throws -> OAuthCredential {
    guard let login = try await pending?.login() else { throw Self.nothingPending }
    guard login.server.issuer.utf8.elementsEqual(client.issuer.utf8),
      login.clientID == client.clientID, login.resources == client.resources
    else {
      throw WebLoginError(
        .otherLogin, "the pending login belongs to another server, client or resource",
        remedy: "Start a new login")
    }
    guard login.deadline.timeLeft(by: client.clock) != nil else {
      try await pending?.remove(login)
      throw Self.timedOut
    }
    let listener = try listenAgain(for: login)
    return try await closing(listener) {
      // The process that had the port may have finished the login: a verifier is used once.
      guard try await pending?.login() == login else { throw Self.nothingPending }
      let address = reopensBrowser ? try login.authorizationAddress() : nil
      return try await finish(login, listener, opening: address)
    }
  }

  /// Returns whether a login is stored that ``resume(reopensBrowser:)`` could continue.
  ///
  /// - Throws: The errors of ``pending`` when it cannot be read.
  public func isPending() async throws -> Bool {
    let login = try await pending?.login()
    return login?.deadline.timeLeft(by: client.clock) != nil
  }

  // MARK: - Listening

  private func listenAnywhere() throws(WebLoginError) -> LoopbackListener {
    guard redirectPath.hasPrefix("/"), redirectPath.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      !redirectPath.contains(where: { "?#%".contains($0) })
    else {
      throw WebLoginError(
        .invalidConfiguration,
        "the redirect path must begin with a slash and contain no ?, # or %")
    }
    let port = redirectPort ?? 0
    do {
      return try LoopbackListener(on: .version4, port: port)
    } catch  where error.errno == SystemCallError.addressInUse {
      throw WebLoginError(
        .portTaken, "cannot listen on port \(port), which another program has",
        remedy: "End that program, or use another port that the server allows",
        underlying: error)
    } catch {
      // On a machine without IPv4 there is IPv6.
    }
    do {
      return try LoopbackListener(on: .version6, port: port)
    } catch {
      throw WebLoginError(
        .listenerFailed, "cannot listen on any port of the loopback interface",
        remedy: "Log in with a device code", underlying: error)
    }
  }

  private func listenAgain(for login: PendingLogin) throws(WebLoginError) -> LoopbackListener {
    do {
      return try LoopbackListener(on: login.family, port: login.port)
    } catch {
      throw WebLoginError(
        .portTaken,
        "cannot listen on port \(login.port), which the browser returns to",
        remedy: "Start a new login, unless another instance of the program is continuing this one",
        underlying: error)
    }
  }

  /// Runs a closure, and closes the listener whether it returns or throws.
  private func closing<Value>(
    _ listener: LoopbackListener, _ body: () async throws -> Value
  ) async throws -> Value {
    do {
      let value = try await body()
      await listener.close()
      return value
    } catch {
      await listener.close()
      throw error
    }
  }

  // MARK: - Finishing

  private func finish(
    _ login: PendingLogin, _ listener: LoopbackListener, opening address: URL?
  ) async throws -> OAuthCredential {
    let callback: LoginCallback
    do throws(WebLoginError) {
      callback = try await self.callback(of: login, listener, opening: address)
    } catch {
      try await pending?.remove(login)
      throw error
    }
    // Remove the login before the code is sent: a process killed after this must start again.
    try await pending?.remove(login)
    return try await credential(
      for: callback.code(at: ServerAddress.name(of: login.server.tokenEndpoint)), of: login)
  }

  /// Waits for the first event that ends the login.
  private func callback(
    of login: PendingLogin, _ listener: LoopbackListener, opening address: URL?
  ) async throws(WebLoginError) -> LoginCallback {
    let ending = FirstAnswer<Result<LoginCallback, WebLoginError>>()
    let judge = CallbackJudge(of: login) { ending.give($0) }
    listener.serve { judge.answer($0) }
    let left = login.deadline.timeLeft(by: client.clock) ?? .zero
    let timer = client.clock.after(left) { ending.give(.failure(Self.timedOut)) }
    defer { timer.cancel() }
    let opening = address.map { address in
      Task { [browser] in
        do throws(WebLoginError) {
          try await browser.open(address)
        } catch {
          ending.give(.failure(error))
        }
      }
    }
    defer { opening?.cancel() }
    let pasting = pastedAddress.map { ask in
      Task {
        var refusal: String?
        repeat {
          guard let address = await ask(refusal) else {
            return ending.give(.failure(.ofCancellation))
          }
          refusal = judge.refusal(ofPasted: address)
        } while refusal != nil
      }
    }
    defer { pasting?.cancel() }
    return try await ending.value(whenCancelled: .failure(.ofCancellation)).get()
  }

  private func credential(
    for code: SecretBytes, of login: PendingLogin
  ) async throws(WebLoginError) -> OAuthCredential {
    try await client.credential(
      exchanging: code, at: login.server.tokenEndpoint, redirectAddress: login.redirectAddress,
      verifier: login.verifier, asked: login.scopes, nonce: login.nonce,
      authenticatedAfter: maximumAge(of: login).map { login.deadline.begin - $0 })
  }

  /// Returns how long ago the person may have authenticated, in seconds, if the program limits it
  /// (OpenID Connect Core, section 3.1.2.1).
  private func maximumAge(of login: PendingLogin) -> TimeInterval? {
    login.parameters["max_age"].flatMap(Int.init).map(TimeInterval.init)
  }

  private static var timedOut: WebLoginError {
    WebLoginError(
      .timedOut, "the login in the browser was not finished in time",
      remedy: "Start it again")
  }

  private static var nothingPending: WebLoginError {
    WebLoginError(
      .nothingPending, "there is no login to resume", remedy: "Start a new login")
  }
}
