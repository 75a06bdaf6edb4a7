import Foundation
import SessionToolsBase
import SessionToolsTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `a valid item` {
  let clock: ManualClock
  let server: TokenServer
  let session: UserSession<Token>
  let store = MemoryStore()

  init() throws {
    clock = ManualClock()
    server = TokenServer(clock)
    session = try server.session(store)
  }

  @Test func `an item that lasts is returned unchanged`() async throws {
    try session.didLogIn(server.token(in: .seconds(61)))
    #expect(try await session.validItem().number == 0)
    #expect(server.requests.isEmpty)
  }

  @Test func `an item that expires within the leeway is refreshed and stored`() async throws {
    try session.didLogIn(server.token(in: .seconds(60)))
    #expect(try await session.validItem().number == 1)
    #expect(session.currentUser?.number == 1)
    #expect(server.spent == [0])
  }

  @Test func `an item that never expires is never refreshed`() async throws {
    try session.didLogIn(server.token(in: nil))
    clock.advance(by: .seconds(1_000_000_000))
    #expect(try await session.validItem().number == 0)
    #expect(server.requests.isEmpty)
  }

  @Test func `with always a valid item is refreshed, with never no expired one is`() async throws {
    try session.didLogIn(server.token(in: .seconds(3600)))
    #expect(try await session.validItem(.always).number == 1)
    #expect(try await session.validItem(.never).number == 1)
    clock.advance(by: .seconds(3600))
    await expectFailure(SessionError.expired) { try await session.validItem(.never) }
    #expect(server.spent == [0])
  }

  @Test func `without a user there is no item, and nothing is stored`() async throws {
    await expectFailure(SessionError.notSignedIn) { try await session.validItem() }
    await expectFailure(SessionError.notSignedIn) { try await session.validItem(.always) }
    #expect(try await store.names(in: nil).isEmpty)
    #expect(server.requests.isEmpty)
  }

  @Test func `only the item is left in the store`() async throws {
    try session.didLogIn(server.token(in: .zero))
    _ = try await session.validItem()
    #expect(try await store.names(in: nil).map(\.identifier) == ["token"])
    try session.didLogOut()
    #expect(try await store.names(in: nil).isEmpty)
  }

  @Test func `a closure gives the expiration of a model that cannot conform`() async throws {
    let server = server
    let refresher = SessionRefresher<String>(
      clock: clock, expiration: { _ in server.clock.now }
    ) { .refreshed($0.item + "+") }
    let session = Session(
      container: try StoreContainer<String>(store, service: "mail"), storageIdentifier: "text",
      refresher: refresher)
    try session.updateItem("token")
    #expect(try await session.validItem() == "token+")
  }

  @Test func `without a refresher an expired item is an error, a valid one is not`() async throws {
    let session = Session(
      container: try StoreContainer<Token>(store, service: "mail"), storageIdentifier: "plain")
    try session.updateItem(Token(expirationDate: Date() + 3600))
    #expect(try await session.validItem().number == 0)
    try session.updateItem(Token(expirationDate: Date() - 1))
    await expectFailure(SessionError.expired) { try await session.validItem() }
    await expectFailure(SessionError.expired) { try await session.validItem(.always) }
  }

  @Test func `an unavailable store is an error, never a sign-out`() async throws {
    let session = try server.session(RefusingStore(StoreError.locked))
    await expectFailure(StoreError.locked) { try await session.validItem() }
  }

  @Test func `an item in a container of the old kind is refreshed too`() async throws {
    let container = OldContainer<Token>()
    let session = UserSession(
      container: container, storageIdentifier: "token", refresher: server.refresher())
    try session.didLogIn(server.token(in: .zero))
    #expect(try await session.validItem().number == 1)
    server.next { _ in .rejected(TestError()) }
    await expectFailure(SessionError.rejected) { try await session.validItem(.always) }
    #expect(container.entries.isEmpty)
  }

  // MARK: - Requests with a valid item

  @Test func `a rejected request is sent once more with a newer item`() async throws {
    try session.didLogIn(server.token(in: .seconds(3600)))
    let sent = Shared<[Int]>([])
    let answer = try await session.withValidItem { token in
      sent.update { $0.append(token.number) }
      return token.number == 0 ? 401 : 200
    } isRejected: {
      $0 == 401
    }
    #expect(answer == 200)
    #expect(sent.current == [0, 1])
    #expect(server.spent == [0])
  }

  @Test func `a request is sent at most twice`() async throws {
    try session.didLogIn(server.token(in: .seconds(3600)))
    let sent = Shared(0)
    let answer = try await session.withValidItem { _ in
      sent.update { $0 += 1 }
      return 401
    } isRejected: {
      $0 == 401
    }
    #expect(answer == 401 && sent.current == 2)
  }

  @Test func `a request that is not rejected is sent once, and the item stays`() async throws {
    try session.didLogIn(server.token(in: .seconds(3600)))
    let sent = Shared(0)
    let answer = try await session.withValidItem { _ in
      sent.update { $0 += 1 }
      return 200
    } isRejected: {
      $0 == 401
    }
    #expect(answer == 200 && sent.current == 1)
    #expect(server.requests.isEmpty)
  }

  @Test func `without means to refresh, the rejection is the answer`() async throws {
    let session = Session(
      container: try StoreContainer<Token>(store, service: "mail"), storageIdentifier: "token")
    try await session.save(server.token(in: nil))
    let answer = try await session.withValidItem { _ in
      401
    } isRejected: {
      $0 == 401
    }
    #expect(answer == 401)
    try await session.remove()
    await expectFailure(SessionError.notSignedIn) { try await session.validItem() }
  }

  // MARK: - Items that are still valid

  @Test func `an item that expires while a refresh fails is not returned`() async throws {
    try session.didLogIn(server.token(in: .seconds(5)))
    server.next { [clock] _ in
      clock.advance(by: .seconds(10))
      return .transientFailure(TestError(), retryAfter: .seconds(600))
    }
    await expectFailure(SessionError.temporarilyFailed) { try await session.validItem() }
  }

  @Test func `a caller that is cancelled gets no item, though one is still valid`() async throws {
    try session.didLogIn(server.token(in: .seconds(50)))
    let door = Door()
    server.next { [server] request in
      await door.pass()
      return .refreshed(server.renewed(request.item))
    }
    let session = session
    let waiting = Task { try await session.validItem() }
    await door.waitForArrival()
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    // The refresh goes on without its caller.
    door.open()
    #expect(try await session.validItem(.ifNeeded).number == 1)
  }

  @Test func `another item is waited for, though the stored one is valid`() async throws {
    try session.didLogIn(server.token(in: .seconds(3600)))
    server.failNext()
    let (session, clock) = (session, clock)
    let waiting = Task { try await session.validItem(.always).number }
    await clock.waitForSleeper(within: .seconds(10))
    clock.advance(by: .seconds(10))
    #expect(try await waiting.value == 1)
  }

  @Test func `many rejected requests spend one token`() async throws {
    try session.didLogIn(server.token(in: .seconds(3600)))
    let session = session
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<50 {
        group.addTask {
          try await session.withValidItem { token in
            await Task.yield()
            return token.number == 0 ? 401 : 200
          } isRejected: {
            $0 == 401
          }
        }
      }
      for try await answer in group { #expect(answer == 200) }
    }
    #expect(server.spent == [0])
  }
}

@Suite(.timeLimit(.minutes(20))) struct `an item's expiry` {
  let clock: ManualClock
  let server: TokenServer
  let session: UserSession<Token>

  init() throws {
    clock = ManualClock()
    server = TokenServer(clock)
    session = try server.session()
  }

  @Test func `that is no number is over`() async throws {
    let (server, requestCount) = (server, Shared(0))
    let session = Session(
      container: try StoreContainer<Token>(MemoryStore(), service: "mail"),
      storageIdentifier: "token",
      refresher: SessionRefresher(
        clock: clock,
        expiration: { $0.number == 0 ? Date(timeIntervalSince1970: .nan) : nil },
        refresh: { request in
          requestCount.update { $0 += 1 }
          return .refreshed(server.renewed(request.item))
        }))
    try await session.save(Token())
    #expect(try await session.validItem().number == 1)
    #expect(requestCount.current == 1)
  }

  @Test func `a clock that is set back does not delay it`() async throws {
    try session.didLogIn(server.token(in: .seconds(600)))
    #expect(try await session.validItem().number == 0)
    clock.advance(by: .seconds(500))
    clock.jump(wallClockBy: .seconds(-86_400))
    #expect(try await session.validItem().number == 0)
    clock.advance(by: .seconds(41))
    #expect(try await session.validItem().number == 1)
  }

  @Test func `a clock that is set forward costs one refresh`() async throws {
    try session.didLogIn(server.token(in: .seconds(600)))
    #expect(try await session.validItem().number == 0)
    clock.jump(wallClockBy: .seconds(86_400))
    for _ in 0..<5 { #expect(try await session.validItem().number == 1) }
    #expect(server.spent == [0])
  }

  @Test func `the time that the machine sleeps counts`() async throws {
    try session.didLogIn(server.token(in: .seconds(600)))
    #expect(try await session.validItem().number == 0)
    clock.suspend(for: .seconds(3600))
    #expect(try await session.validItem().number == 1)
  }

  @Test(arguments: [-86_400, 86_400])
  func `once the server's time is known, the wall clock does not matter`(
    skew: Int
  ) async throws {
    let serverTime = clock.now
    clock.jump(wallClockBy: .seconds(skew))
    try session.didLogIn(Token(expirationDate: serverTime + 600))
    try await session.learn(serverTime: serverTime)
    #expect(try await session.validItem().number == 0)
    clock.jump(wallClockBy: .seconds(skew))
    #expect(try await session.validItem().number == 0)
    clock.advance(by: .seconds(539))
    #expect(try await session.validItem().number == 0)
    clock.advance(by: .seconds(1))
    #expect(try await session.validItem().number == 1)
  }

  @Test func `a handler may pass on the server's time`() async throws {
    let serverTime = clock.now
    clock.jump(wallClockBy: .seconds(86_400))
    try session.didLogIn(Token(expirationDate: serverTime + 600))
    server.next { _ in
      .refreshed(Token(number: 7, expirationDate: serverTime + 600), serverTime: serverTime)
    }
    for _ in 0..<10 { #expect(try await session.validItem().number == 7) }
    #expect(server.requests.count == 1)
  }

  @Test func `items that arrive expired are not requested forever`() async throws {
    server.lifetime = .seconds(-60)
    try session.didLogIn(server.token(in: .zero))
    for number in 1...5 {
      let waiting = Task { [session] in try await session.validItem() }
      if number > 1 {
        // The pause between two tries.
        await clock.waitForSleeper(within: .seconds(10))
        clock.advance(by: .seconds(4))
      }
      #expect(try await waiting.value.number == number)
    }
    let error = await expectFailure(SessionError.temporarilyFailed) {
      try await session.validItem()
    }
    let reason = "\(error?.underlying ?? TestError())"
    #expect(reason.contains("set the clock"))
    #expect(session.isLoggedIn)
  }
}
