import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestStores
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

/// Logins whose program is killed and started again.
extension `one at a time` {
  @Suite struct `a login that is resumed` {
    /// Begins a login and ends it, and then puts back what a killed program would have left.
    ///
    /// The tests of the command line kill a real process.
    private func begin(
      _ stage: LoginStage, _ act: Chromium.Act? = .open
    ) async throws -> (kept: SecretBytes, name: ItemName) {
      let browser = WatchedBrowser(
        act.map { DesktopOpener(environment: stage.chromium.environment($0)) })
      var login = stage.login(.open)
      login.browser = browser
      let ending = Task { [login] in try await login.start() }
      _ = try await browser.address()
      let name = try ItemName("pending-login", in: StoreNamespace(service: "test"))
      let kept = try #require(try await stage.store.value(for: name))
      if act == .open {
        try await wait(until: "the page is there") {
          (try? await stage.chromium.perform(.page))?.hasPrefix("/authorize") ?? false
        }
      }
      ending.cancel()
      _ = await ending.result
      try await stage.store.put(kept, for: name)
      return (kept, name)
    }

    @Test func `is finished by another process on the same port`() async throws {
      let stage = try LoginStage()
      _ = try await begin(stage)
      let resumed = stage.login(.open)
      #expect(try await resumed.isPending())
      let ending = Task { try await resumed.resume() }
      try await wait(until: "it listens") { try listeningPortCount() == 1 }
      _ = try await stage.chromium.perform(.allow)
      #expect(try await stage.server.status(with: ending.value.accessToken) == 200)
      #expect(try await !resumed.isPending())
    }

    @Test func `is finished when a page that came too early is loaded again`() async throws {
      let stage = try LoginStage()
      _ = try await begin(stage)
      // The port is closed, so the browser shows an error.
      _ = try? await stage.chromium.perform(.allow)
      let ending = Task { try await stage.login(.open).resume() }
      try await wait(until: "it listens") { try listeningPortCount() == 1 }
      #expect(try await stage.chromium.perform(.again).hasPrefix("/callback The browser's part"))
      #expect(try await stage.server.status(with: ending.value.accessToken) == 200)
    }

    @Test func `opens the browser again on request`() async throws {
      let stage = try LoginStage()
      _ = try await begin(stage)
      let credential = try await stage.login(.allow).resume(reopensBrowser: true)
      #expect(try await stage.server.status(with: credential.accessToken) == 200)
    }

    @Test func `reports that its port is taken and stays pending`() async throws {
      let stage = try LoginStage()
      let browser = WatchedBrowser()
      var login = stage.login(.open)
      login.browser = browser
      let ending = Task { [login] in try await login.start() }
      _ = try await browser.address()
      // The process that began it still lives.
      let again = login
      let error = await #expect(throws: WebLoginError.self) { try await again.resume() }
      #expect(error?.code == .portTaken)
      #expect(try stage.hasPending())
      ending.cancel()
      _ = await ending.result
    }

    @Test func `reports that there is nothing to resume`() async throws {
      let stage = try LoginStage()
      for login in [stage.login(.open), WebAuthenticationSession(client: stage.client)] {
        let error = await #expect(throws: WebLoginError.self) { try await login.resume() }
        #expect(error?.code == .nothingPending)
      }
      #expect(try listeningPortCount() == 0)
    }

    @Test func `reports that it belongs to another client and stays pending`() async throws {
      let stage = try LoginStage()
      _ = try await begin(stage, nil)
      let other = OAuthClient(issuer: stage.server.address, clientID: "other")
      let login = WebAuthenticationSession(client: other, pending: stage.pending)
      let error = await #expect(throws: WebLoginError.self) { try await login.resume() }
      #expect(error?.code == .otherLogin)
      #expect(try stage.hasPending())
    }

    @Test(arguments: [
      (Duration.seconds(299), Duration.zero, false, true),
      (.seconds(301), .zero, false, false),
      // Setting the wall clock changes nothing, while the machine is on.
      (.seconds(299), .seconds(86_400), false, true),
      (.seconds(301), .seconds(-600), false, false),
      // After a restart there is only the wall clock.
      (.seconds(10), .zero, true, true),
      (.seconds(10), .seconds(300), true, false),
      (.seconds(10), .seconds(-600), true, false),
    ])
    func `is over at its deadline whatever was done to the clock`(
      _ time: Duration, _ jump: Duration, _ isRestarted: Bool, _ isPending: Bool
    ) async throws {
      let clock = RestartedClock()
      let stage = try LoginStage(clock: clock)
      _ = try await begin(stage, nil)
      clock.base.advance(by: time)
      clock.base.jump(wallClockBy: jump)
      if isRestarted { clock.start.update { $0 += 1 } }
      let login = stage.login(.open)
      #expect(try await login.isPending() == isPending)
      if !isPending {
        let error = await #expect(throws: WebLoginError.self) { try await login.resume() }
        #expect(error?.code == .timedOut)
        #expect(try !stage.hasPending(), "it can never be finished")
      }
    }

    @Test func `is not finished twice`() async throws {
      let stage = try LoginStage()
      let (kept, name) = try await begin(stage)
      let removing = stage.login(.open)
      // This login reads the pending login, and gets the port when the other has finished.
      let slow = SlowlyReadStore(stage.store, name)
      var late = stage.login(.open)
      late.pending = PendingLogin.Storage(try StoreContainer<PendingLogin>(slow, service: "test"))
      let lateEnding = Task { [late] in try await late.resume() }
      await slow.waitForReader()
      let ending = Task { try await removing.resume() }
      try await wait(until: "it listens") { try listeningPortCount() == 1 }
      _ = try await stage.chromium.perform(.allow)
      _ = try await ending.value
      slow.release(with: kept)
      let error = await #expect(throws: WebLoginError.self) { try await lateEnding.value }
      #expect(error?.code == .nothingPending)
      #expect(try listeningPortCount() == 0)
    }
  }
}

/// A clock of a machine that can be restarted.
final class RestartedClock: SessionClock {
  let base = ManualClock()
  let start = Shared(0)

  var now: Date { base.now }
  var uptime: Duration { base.uptime }
  var bootIdentifier: String { "start \(start.now)" }
  func sleep(for duration: Duration) async throws { try await base.sleep(for: duration) }
}

/// A store whose first read of a name waits, and then returns an earlier value.
final class SlowlyReadStore: AsyncSecretStore, ForwardingStore {
  let base: MemoryStore
  private let name: ItemName
  private let isFirst = Shared(true)
  private let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
  private let (answers, answer) = AsyncStream.makeStream(of: SecretBytes.self)

  init(_ base: MemoryStore, _ name: ItemName) {
    self.base = base
    self.name = name
  }

  func waitForReader() async {
    for await _ in arrivals { return }
  }

  func release(with value: SecretBytes) { answer.yield(value) }

  func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    let isFirst = isFirst.update { isFirst in
      defer { isFirst = false }
      return isFirst
    }
    guard isFirst, name == self.name else { return try await base.asyncValue(for: name) }
    arrival.yield()
    for await value in answers { return value }
    return nil
  }

  func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool {
    try await base.asyncContains(name)
  }

  func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await base.asyncApply(changes)
  }

  func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await base.asyncNames(in: namespace)
  }
}
