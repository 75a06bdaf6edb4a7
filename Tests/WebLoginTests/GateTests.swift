import SessionToolsOAuthTestSupport
import SessionAuthentication
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

extension `one at a time` {
  @Suite struct `a login while the program is locked` {
    @Test func `is finished and its result waits until the gate opens`() async throws {
      let stage = try LoginStage()
      let authenticator = ScriptedAuthenticator([.success])
      let gate = AuthenticationGate(authenticator) { AuthenticationRequest(reason: "test") }
      let shield = PrivacyShield(reasons: [.locked], obscure: {}, reveal: {})
      gate.connect("main", isActive: true, shield: shield) { _ in }
      try await gate.authenticate(in: "main")
      #expect(!shield.isObscured)

      let browser = WatchedBrowser(DesktopOpener(environment: stage.chromium.environment(.open)))
      var login = stage.login(.open)
      login.browser = browser
      let items = try StoreContainer<OAuthCredential>(stage.store, service: "session")
      let session = UserSession(
        container: GuardedContainer(items, behind: gate), storageIdentifier: "login",
        refresher: stage.client.refresher())
      let finished = Shared(false)
      let ending = Task { [login] in
        let credential = try await login.start()
        finished.update { $0 = true }
        // The program uses the result only when the person is back in front.
        try await gate.whenAuthenticated(in: "main") { try await session.signIn(credential) }
      }
      _ = try await browser.address()
      // The browser has the focus, the window is hidden, the desktop locks, the machine sleeps.
      gate.handle(.willResignActive, in: "main")
      #expect(shield.isObscured)
      gate.handle(.didEnterBackground, in: "main")
      gate.handle(.sessionLocked)
      gate.handle(.willSleep)
      gate.handle(.didWake)
      gate.disconnect("main")
      gate.connect("main", isActive: false, shield: shield) { _ in }
      #expect(gate.requiresAuthentication)
      try await wait(until: "the page is there") {
        (try? await stage.chromium.perform(.page))?.hasPrefix("/authorize") ?? false
      }
      #expect(try await stage.chromium.perform(.allow).hasPrefix("/callback The browser's part"))
      try await wait(until: "the login is finished") { finished.now }
      #expect(gate.requiresAuthentication)
      #expect(try items.item(forIdentifier: "login") == nil, "its result waits")

      gate.handle(.sessionUnlocked)
      gate.handle(.willEnterForeground, in: "main")
      authenticator.append(.success)
      gate.handle(.didBecomeActive, in: "main")
      try await gate.authenticate(in: "main")
      try await ending.value
      let credential = try await session.validItem()
      #expect(try await stage.server.status(with: credential.accessToken) == 200)
    }
  }
}
