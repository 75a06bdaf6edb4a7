import Foundation
import SessionToolsBase

/// A login in the person's own browser: authorization code with a proof key (RFC 6749, 7636 and 8252).
///
/// ```swift
/// var login = WebAuthenticationSession(client: client, scopes: ["openid", "offline_access"])
/// login.pending = PendingLoginPlace(try StoreContainer(store, service: "com.example.mail"))
/// try await session.logIn(try await login.start())
/// ```
///
/// What `ASWebAuthenticationSession` is on Apple's systems, with one difference: it has no window, and
/// takes no part in the life of those that the program has. Obscuring, hiding, locking or replacing them
/// does not end it. It ends by the browser's coming back, its deadline, or the task's being cancelled;
/// nobody tells a program that a person has closed the browser's window.
public struct WebAuthenticationSession: Sendable {
  /// The program, as the server knows it.
  public let client: OAuthClient
  /// What access is asked for; with `openid`, a nonce is asked for as well.
  public var scopes: [String]
  /// What else the server is told, such as `prompt` or `login_hint`; what this type says itself counts
  /// for nothing here.
  public var parameters: [String: String] = [:]
  /// How long the person has; 5 min.
  public var timeout: Duration = .seconds(300)
  /// The path of the address that the browser comes back to, as it is registered at the server.
  public var redirectPath = "/callback"
  /// What opens the browser.
  public var browser: any Browser = SystemBrowser()
  /// Where the login is kept meanwhile; without it, it cannot be resumed.
  public var pending: PendingLoginPlace?

  /// Describes a login; nothing is opened.
  public init(client: OAuthClient, scopes: [String] = [], pending: PendingLoginPlace? = nil) {
    self.client = client
    self.scopes = scopes
    self.pending = pending
  }

  /// Opens the browser, waits until it comes back, and gets the credential.
  ///
  /// While it waits, a port of `127.0.0.1` (or `[::1]`, on a machine without the other) is listened on;
  /// it is closed before this returns or throws. Requests that are not the answer to this login, and
  /// a second one that is, get status 400 and change nothing. Blocks no thread of the cooperative pool.
  ///
  /// - Returns: The credential, for a session to store.
  /// - Throws: ``WebLoginError``: `denied`, `cancelled`, `timedOut`, `noBrowser`, `listenerFailed`,
  ///   `unsupported`, `refused`, `unreachable`, `unavailable`, `invalidResponse`, or what asking for the
  ///   server's addresses throws; and what ``pending`` throws when the login cannot be kept or removed.
  public func start() async throws -> OAuthCredential {
    let server = try await client.server()
    let listener = try listenAnywhere()
    return try await closing(listener) {
      let login = PendingLogin(
        state: ProofKey.randomWord().text, verifier: ProofKey.randomWord().text,
        nonce: scopes.contains("openid") ? ProofKey.randomWord().text : nil, server: server,
        clientID: client.clientID, scopes: scopes,
        parameters: parameters.filter { !Self.ownParameters.contains($0.key) },
        family: listener.family, port: listener.port, redirectPath: redirectPath,
        deadline: LoginDeadline(in: timeout, by: client.clock))
      let address = try login.authorizationAddress()
      try await pending?.keep(login)
      return try await finish(login, listener, opening: address)
    }
  }

  /// Goes on with a login that another process of the program began, and that was killed.
  ///
  /// The port that the browser returns to is listened on again. The browser is left as it is: the
  /// person is in the midst of the login there.
  ///
  /// - Parameter reopensBrowser: Opens the browser once more, such as after a restart of the machine.
  /// - Returns: The credential, for a session to store.
  /// - Throws: As ``start()``; `nothingPending` when there is no login, or somebody else has gone on
  ///   with it; `otherLogin` when it is of another server or client; `portTaken` when its port cannot be
  ///   listened on; `timedOut` when its deadline is over. After `portTaken` and `otherLogin` it is still
  ///   pending, and is replaced by the next ``start()``.
  public func resume(reopensBrowser: Bool = false) async throws -> OAuthCredential {
    guard let login = try await pending?.login() else { throw Self.nothingPending }
    guard login.server.issuer.utf8.elementsEqual(client.issuer.utf8),
      login.clientID == client.clientID
    else {
      throw WebLoginError(
        WebLoginError.otherLogin, "the login that is pending is of another server or client",
        remedy: "Start a new login")
    }
    guard login.deadline.timeLeft(by: client.clock) != nil else {
      try await pending?.remove(login)
      throw Self.timedOut
    }
    let listener = try listenAgain(for: login)
    return try await closing(listener) {
      // Whoever had the port may have finished it meanwhile: a verifier is used once.
      guard try await pending?.login() == login else { throw Self.nothingPending }
      let address = reopensBrowser ? try login.authorizationAddress() : nil
      return try await finish(login, listener, opening: address)
    }
  }

  /// Whether a login is kept that ``resume(reopensBrowser:)`` could go on with.
  ///
  /// - Throws: What ``pending`` throws when it cannot be read.
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
        WebLoginError.invalidConfiguration,
        "the redirect path has to begin with a slash, without ?, # and %")
    }
    do {
      // On a machine without the older protocol there is the newer one.
      return try (try? LoopbackListener(on: .version4)) ?? LoopbackListener(on: .version6)
    } catch {
      throw WebLoginError(
        WebLoginError.listenerFailed, "no port of the loopback interface can be listened on",
        remedy: "Log in with a device code", wasSent: false, underlying: error)
    }
  }

  private func listenAgain(for login: PendingLogin) throws(WebLoginError) -> LoopbackListener {
    do {
      return try LoopbackListener(on: login.family, port: login.port)
    } catch {
      throw WebLoginError(
        WebLoginError.portTaken, "port \(login.port), which the browser returns to, cannot be had",
        remedy: "Start a new login, unless another instance of the program goes on with this one",
        wasSent: false, underlying: error)
    }
  }

  /// Runs a closure, and closes the listener however it ends.
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
    // Before the code is sent: whoever is killed from here on has to start anew.
    try await pending?.remove(login)
    switch callback {
    case .denied(let refusal):
      throw WebLoginError(
        WebLoginError.denied, "the login was not allowed", refusal: refusal)
    case .code(let code): return try await credential(for: code, of: login)
    }
  }

  /// Waits for the first of what may end it.
  private func callback(
    of login: PendingLogin, _ listener: LoopbackListener, opening address: URL?
  ) async throws(WebLoginError) -> LoginCallback {
    let ending = FirstAnswer<Result<LoginCallback, WebLoginError>>()
    let judge = CallbackJudge(of: login, at: listener.authority) { ending.give(.success($0)) }
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
    return try await ending.value(whenCancelled: .failure(.ofCancellation)).get()
  }

  private func credential(
    for code: SecretBytes, of login: PendingLogin
  ) async throws(WebLoginError) -> OAuthCredential {
    let request = TokenRequest(
      endpoint: login.server.tokenEndpoint,
      fields: [
        ("grant_type", "authorization_code"), ("code", code.text),
        ("redirect_uri", login.redirectAddress), ("code_verifier", login.verifier),
      ])
    return try await client.credential(for: request, asked: login.scopes, nonce: login.nonce)
  }

  private static let ownParameters: Set = [
    "response_type", "client_id", "redirect_uri", "state", "code_challenge",
    "code_challenge_method", "scope", "nonce",
  ]

  private static var timedOut: WebLoginError {
    WebLoginError(
      WebLoginError.timedOut, "nobody finished the login in the browser in time",
      remedy: "Start it again")
  }

  private static var nothingPending: WebLoginError {
    WebLoginError(
      WebLoginError.nothingPending, "there is no login to resume", remedy: "Start a new login")
  }
}
