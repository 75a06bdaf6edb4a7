import Foundation
import SessionToolsBase
import SessionToolsTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `the outcome of a refresh` {
  let clock: ManualClock
  let server: TokenServer
  let poster = Recorder()
  let store = MemoryStore()
  let session: UserSession<Token>

  init() throws {
    clock = ManualClock()
    server = TokenServer(clock)
    session = try server.session(store, poster: poster)
  }

  /// Advances the clock whenever a refresh waits for its next try.
  private func passTime(_ count: Int, by pause: Duration = .seconds(10)) -> Task<Void, Never> {
    Task { [clock] in
      for _ in 0..<count {
        // The pause between two tries.
        await clock.waitForSleeper(within: .seconds(10))
        clock.advance(by: pause)
      }
    }
  }

  @Test func `a temporary failure is retried`() async throws {
    try session.didLogIn(server.token(in: .zero))
    server.failNext(3)
    let passing = passTime(3, by: .seconds(4))
    #expect(try await session.validItem().number == 1)
    await passing.value
    #expect(server.requests.count == 4)
    #expect(poster.changes == ["loggedIn", "updated"])
  }

  @Test func `after five failures within half a minute callers get an error, and the item stays`()
    async throws
  {
    try session.didLogIn(server.token(in: .zero))
    server.failNext(20)
    let passing = passTime(4, by: .seconds(5))
    let error = await expectFailure(SessionError.temporarilyFailed) {
      try await session.validItem()
    }
    await passing.value
    #expect(error?.underlying as? TestError == TestError(text: "no network"))
    #expect(error?.retryAfter == .seconds(10))
    #expect(server.requests.count == 5)
    // There is no further request before the time has come.
    await expectFailure(SessionError.temporarilyFailed) { try await session.validItem() }
    #expect(server.requests.count == 5)
    #expect(session.isLoggedIn && poster.changes == ["loggedIn"])
  }

  @Test func `an item that is still valid is returned while refreshing fails`() async throws {
    try session.didLogIn(server.token(in: .seconds(50)))
    server.failNext()
    #expect(try await session.validItem().number == 0)
    // At once, because the next try is not due.
    #expect(try await session.validItem().number == 0)
    #expect(server.requests.count == 1)
    clock.advance(by: .seconds(1))
    #expect(try await session.validItem().number == 1)
  }

  @Test func `the server's request to wait is respected`() async throws {
    try session.didLogIn(server.token(in: .zero))
    server.next { _ in .transientFailure(TestError(), retryAfter: .seconds(120)) }
    let error = await expectFailure(SessionError.temporarilyFailed) {
      try await session.validItem()
    }
    #expect(error?.retryAfter == .seconds(120))
    #expect("\(try #require(error))".hasSuffix("Try again in 120 s."))
    clock.advance(by: .seconds(80))
    await expectFailure(SessionError.temporarilyFailed) { try await session.validItem() }
    #expect(server.requests.count == 1)
    // The time that is left now is short enough to wait.
    let passing = Task { [clock] in
      await clock.waitForSleeper(within: .seconds(20))
      clock.advance(by: .seconds(40))
    }
    clock.advance(by: .seconds(20))
    #expect(try await session.validItem().number == 1)
    await passing.value
  }

  @Test func `a failure that has something to store replaces the item, and stays a failure`()
    async throws
  {
    try session.didLogIn(server.token(in: .zero))
    let half = Token(number: 5, expirationDate: clock.now - 1)
    server.next { _ in .transientFailure(TestError(), retryAfter: .seconds(60), storing: half) }
    let error = await expectFailure(SessionError.temporarilyFailed) {
      try await session.validItem()
    }
    #expect(error?.underlying as? TestError == TestError())
    #expect(try await session.item()?.number == 5)
    #expect(server.requests.count == 1, "the pause holds for what was stored")
    clock.advance(by: .seconds(61))
    #expect(try await session.validItem().number == 6)
    #expect(server.requests.map(\.item.number) == [0, 5])
  }

  @Test func `what others stored during a failure that had something to store is sent at once`()
    async throws
  {
    try session.didLogIn(server.token(in: .zero))
    let session = session
    let half = Token(number: 5, expirationDate: clock.now - 1)
    let others = Token(number: 7, expirationDate: clock.now - 1)
    server.next { _ in
      try await session.save(others)
      return .transientFailure(TestError(), retryAfter: .seconds(600), storing: half)
    }
    #expect(try await session.validItem().number == 8)
    #expect(server.requests.map(\.item.number) == [0, 7])
  }

  @Test func `hundreds of failures are followed by a success`() async throws {
    let session = try server.session { $0.maximumAttemptCount = 1 }
    try session.didLogIn(server.token(in: .zero))
    server.failNext(200)
    for _ in 0..<200 {
      await expectFailure(SessionError.temporarilyFailed) { try await session.validItem() }
      clock.advance(by: .seconds(3600))
    }
    #expect(try await session.validItem().number == 1)
    #expect(server.requests.count == 201)
  }

  @Test func `a rejection is the reason why no user is signed in`() async throws {
    try session.didLogIn(server.token(in: .zero))
    server.next { _ in .rejected(TestError(text: "revoked")) }
    await expectFailure(SessionError.rejected) { try await session.validItem() }
    for state in [session.state, await session.currentState()] {
      guard case .signedOut(.rejected(let reason)) = state else {
        Issue.record("\(state)")
        return
      }
      #expect(reason as? TestError == TestError(text: "revoked"))
    }
  }

  @Test func `an expired item that a failure stored is no new item, but is sent next`()
    async throws
  {
    try session.didLogIn(server.token(in: .seconds(3600)))
    let half = Token(number: 5, expirationDate: clock.now - 1)
    server.next { _ in .transientFailure(TestError(), storing: half) }
    _ = passTime(1)
    #expect(try await session.validItem(.always).number == 6)
    #expect(server.requests.map(\.item.number) == [0, 5])
  }

  @Test func `a failure that has something to store does not replace another user's item`()
    async throws
  {
    try session.didLogIn(server.token(in: .zero))
    let half = Token(number: 5, expirationDate: clock.now - 1)
    let next = server.token(in: .seconds(3600), number: 7)
    server.next { [store] _ in
      try StoreContainer<Token>(store, service: "mail").storeItem(next, forIdentifier: "token")
      return .transientFailure(TestError(), retryAfter: .seconds(60), storing: half)
    }
    #expect(try await session.validItem().number == 7)
    #expect(try await session.item()?.number == 7)
  }

  @Test(arguments: [true, false])
  func `a login does not wait for the retry time of the login before`(isOther: Bool) async throws {
    try session.didLogIn(server.token(in: .zero))
    // The time is limited, so that neither the clock nor the text overflows.
    server.next { _ in .transientFailure(TestError(), retryAfter: .seconds(1e19)) }
    let error = await expectFailure(SessionError.temporarilyFailed) {
      try await session.validItem()
    }
    #expect("\(try #require(error))".hasSuffix("Try again in 1000000000000000 s."))
    let next = server.token(in: .zero, number: 7)
    if isOther {
      // As by another process, of which this one has no session.
      try StoreContainer<Token>(store, service: "mail").storeItem(next, forIdentifier: "token")
    } else {
      try session.userDidLogOut(logoutError: nil)
      try session.didLogIn(next)
    }
    #expect(try await session.validItem().number == 8)
  }

  @Test func `an error that the handler throws is a temporary failure`() async throws {
    try session.didLogIn(server.token(in: .zero))
    server.next { _ in throw TestError() }
    server.next { _ in throw CancellationError() }
    let passing = passTime(2)
    #expect(try await session.validItem().number == 1)
    await passing.value
  }

  @Test func `a rejection signs the user out, and has the reason`() async throws {
    try session.didLogIn(server.token(in: .zero))
    server.next { _ in .rejected(TestError(text: "invalid_grant")) }
    let error = await expectFailure(SessionError.rejected) { try await session.validItem() }
    #expect(error?.underlying as? TestError == TestError(text: "invalid_grant"))
    #expect(!"\(try #require(error))".contains("invalid_grant"))
    #expect(poster.changes == ["loggedIn", "loggedOut with error"])
    guard case .signedOut(.rejected(let reason)) = session.state else {
      Issue.record("\(session.state)")
      return
    }
    #expect(reason as? TestError == TestError(text: "invalid_grant"))
    #expect(try await store.names(in: nil).isEmpty)
    await expectFailure(SessionError.notSignedIn) { try await session.validItem() }
  }

  @Test func `a rejection of an item that was replaced meanwhile signs no user out`() async throws {
    try session.didLogIn(server.token(in: .zero))
    let (session, server) = (session, server)
    server.next { _ in
      // Another process has spent the token, and stored the new item.
      try session.updateItem(server.token(in: .seconds(3600), number: 9))
      return .rejected(TestError())
    }
    #expect(try await session.validItem().number == 9)
    #expect(poster.changes == ["loggedIn"])
    #expect(session.isLoggedIn)
  }

  @Test func `a user who signs out during a refresh stays signed out`() async throws {
    try session.didLogIn(server.token(in: .zero))
    let (session, server) = (session, server)
    server.next { request in
      try session.didLogOut()
      return .refreshed(server.renewed(request.item))
    }
    await expectFailure(SessionError.notSignedIn) { try await session.validItem() }
    #expect(!session.isLoggedIn)
    #expect(poster.changes == ["loggedIn", "loggedOut"])
    guard case .signedOut(.requested(nil)) = session.state else {
      Issue.record("\(session.state)")
      return
    }
  }

  @Test func `a user who signs in during a refresh is not replaced by its item`() async throws {
    try session.didLogIn(server.token(in: .zero))
    let (session, server) = (session, server)
    server.next { request in
      try session.didLogIn(Token(id: "bob", number: 50))
      return .refreshed(server.renewed(request.item))
    }
    #expect(try await session.validItem().id == "bob")
    #expect(session.currentUser?.number == 50)
  }

  @Test func `each event names its user and its session`() async throws {
    let center = NotificationCenter()
    let session = try server.session(store, poster: center)
    let heard = Shared<[String]>([])
    let observer = center.addObserver(
      forName: .userSessionStateDidChange, object: session, queue: nil
    ) { notification in
      let user = notification.userSessionUserIdentifier.map { "\($0)" } ?? "unknown"
      let name = notification.userSessionIdentifier ?? "none"
      heard.update { $0.append("\(notification.userSessionState?.word ?? "?") \(user) \(name)") }
    }
    try session.didLogIn(server.token(in: .zero))
    _ = try await session.validItem()
    try session.didLogIn(Token(id: "bob"))
    server.next { _ in .rejected(TestError()) }
    await expectFailure(SessionError.rejected) { try await session.validItem(.always) }
    center.removeObserver(observer)
    #expect(
      heard.current == [
        "loggedIn ada token", "updated ada token", "loggedOut ada token", "loggedIn bob token",
        "loggedOut with error bob token",
      ])
    #expect(Notification(name: .userSessionStateDidChange).userSessionIdentifier == nil)
  }

  @Test func `a handler that takes too long is cancelled, and counts as failed`() async throws {
    let session = try server.session(store) {
      $0.handlerTimeout = .seconds(20)
      $0.timeout = .seconds(1000)
    }
    try session.didLogIn(server.token(in: .zero))
    server.next { _ in
      // As in a request whose task is cancelled.
      let (never, continuation) = AsyncStream.makeStream(of: Void.self)
      for await _ in never {}
      continuation.finish()
      throw CancellationError()
    }
    let waiting = Task { try await session.validItem() }
    await clock.waitForSleeper(within: .seconds(20))
    clock.advance(by: .seconds(20))
    let error = await expectFailure(SessionError.temporarilyFailed) { try await waiting.value }
    #expect(error?.underlying is CancellationError)
    clock.advance(by: .seconds(1))
    #expect(try await session.validItem().number == 1)
    #expect(server.requests.count == 2)
  }

  /// Another process signs in during the pause.
  @Test func `waiters get the item that is stored at the end, and not that of a failure`()
    async throws
  {
    try session.didLogIn(server.token(in: .zero))
    let half = server.token(in: .zero, number: 7)
    server.next { _ in .transientFailure(TestError(), storing: half) }
    let (session, name) = (session, try ItemName("token", in: "mail"))
    let waiting = Task { try await session.validItem().number }
    await clock.waitForSleeper(within: .milliseconds(500))
    let newer = try JSONEncoder().encode(server.token(in: .seconds(3600), number: 50))
    try await store.put(SecretBytes(newer), for: name)
    clock.advance(by: .milliseconds(500))
    #expect(try await waiting.value == 50)
  }

  @Test func `a handler that returns the same item is called once`() async throws {
    // One field, because the order of several may differ each time, and then the item does.
    struct Pass: Codable, ExpiringItem, Sendable {
      var expirationDate: Date?
    }
    let calls = Shared(0)
    let session = Session(
      container: try StoreContainer<Pass>(store, service: "mail"), storageIdentifier: "pass",
      refresher: SessionRefresher(clock: clock) { request in
        calls.update { $0 += 1 }
        return .refreshed(request.item)
      })
    try await session.save(Pass(expirationDate: clock.now + 30))
    _ = try await session.validItem()
    #expect(calls.current == 1)
    _ = try await session.validItem(.always)
    #expect(calls.current == 2)
  }

  // MARK: - Containers without a store

  @Test func `sessions of one old container share their refreshes`() async throws {
    let (container, server) = (OldContainer<Token>(), server)
    let sessions = (0..<2).map { _ in
      UserSession(container: container, storageIdentifier: "token", refresher: server.refresher())
    }
    try sessions[0].didLogIn(server.token(in: .zero))
    let other = sessions[1]
    server.next { request in
      await expectFailure(SessionError.reentrant) { try await other.validItem() }
      return .refreshed(server.renewed(request.item))
    }
    #expect(try await sessions[0].validItem().number == 1)
  }

  @Test func `a user who signs in during a refresh in an old container stays`() async throws {
    let container = OldContainer<Token>()
    let session = UserSession(
      container: container, storageIdentifier: "token", refresher: server.refresher())
    for isRejected in [false, true] {
      try session.didLogIn(server.token(in: .zero))
      let server = server
      server.next { request in
        try session.didLogOut()
        try session.didLogIn(Token(id: "bob", number: 50))
        return isRejected ? .rejected(TestError()) : .refreshed(server.renewed(request.item))
      }
      #expect(try await session.validItem().id == "bob")
      #expect(session.currentUser?.number == 50)
    }
  }

  @Test func `a request of one user is not sent again as another user`() async throws {
    try session.didLogIn(server.token(in: .seconds(3600)))
    let session = session
    let sent = Shared(0)
    await expectFailure(SessionError.notSignedIn) {
      try await session.withValidItem { _ in
        sent.update { $0 += 1 }
        try session.didLogIn(Token(id: "bob", number: 50))
        return 401
      } isRejected: {
        $0 == 401
      }
    }
    #expect(sent.current == 1)
  }
}
