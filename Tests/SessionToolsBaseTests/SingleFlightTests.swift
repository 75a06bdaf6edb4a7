import Dispatch
import Foundation
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestStores
import Testing

/// A store in memory whose reads can be held after they have read.
private final class SlowStore: AsyncSecretStore, ForwardingStore {
  let base = MemoryStore()
  private let held = Shared<Door?>(nil)

  private let heldChange = Shared<Door?>(nil)

  /// Holds the next read until the door is opened.
  func holdNextRead(at door: Door) { held.update { $0 = door } }

  /// Holds the next change, after it was made, until the door is opened.
  func holdNextChange(at door: Door) { heldChange.update { $0 = door } }

  func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    let value = try await base.asyncValue(for: name)
    await held.update { $0.take() }?.pass()
    guard !Task.isCancelled else {
      throw StoreError(.cancelled, store: "slow", reason: "the task was cancelled")
    }
    return value
  }
  func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await base.apply(changes)
    await heldChange.update { $0.take() }?.pass()
  }
  func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await base.names(in: namespace)
  }
}

@Suite(.timeLimit(.minutes(20))) struct `one refresh for many` {
  let clock: ManualClock
  let server: TokenServer
  let store = MemoryStore()
  private let door = Door()

  init() throws {
    clock = ManualClock()
    server = TokenServer(clock)
  }

  private func holdNext() {
    let (server, door) = (server, door)
    server.next { request in
      await door.pass()
      return .refreshed(server.renewed(request.item))
    }
  }

  @Test func `a thousand tasks of ten sessions spend one token`() async throws {
    let sessions = try (0..<10).map { _ in try server.session(store) }
    try sessions[0].didLogIn(server.token(in: .zero))
    holdNext()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<1000 {
        group.addTask { try await sessions[number % 10].validItem().number }
      }
      // All wait at the same time, so they wait for one refresh. The other sleeper is the
      // handler's deadline.
      await clock.waitForSleepers(count: 1001)
      door.open()
      for try await number in group { #expect(number == 1) }
    }
    #expect(server.spent == [0])
  }

  @Test func `the item is stored before anyone gets it`() async throws {
    let recorder = Recorder()
    let session = try server.session(store, poster: recorder)
    try session.didLogIn(server.token(in: .zero))
    for expected in 1...200 {
      let number = try await session.validItem(.always).number
      #expect(number == expected)
      let bytes = try #require(try await store.value(for: ItemName("token", in: "mail")))
      let stored = try JSONDecoder().decode(Token.self, from: Data(bytes.copyBytes()))
      #expect(stored.number == expected)
    }
    #expect(recorder.changes == ["loggedIn"] + Array(repeating: "updated", count: 200))
  }

  @Test func `a cancelled waiter returns at once, and the others get the item`() async throws {
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    holdNext()
    let patient = Task { try await session.validItem().number }
    await door.waitForArrival()
    let impatient = Task { try await session.validItem().number }
    impatient.cancel()
    await #expect(throws: CancellationError.self) { try await impatient.value }
    door.open()
    #expect(try await patient.value == 1)
    #expect(server.spent == [0])
  }

  @Test func `the refresh continues when all waiters are gone`() async throws {
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    holdNext()
    let waiting = Task { try await session.validItem() }
    await door.waitForArrival()
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    door.open()
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0])
  }

  @Test func `a waiter that times out gets an error, and a later caller the item`() async throws {
    let session = try server.session(store) { $0.timeout = .seconds(5) }
    try session.didLogIn(server.token(in: .zero))
    holdNext()
    let waiting = Task { try await session.validItem() }
    await door.waitForArrival()
    await clock.waitForSleeper(within: .seconds(5))
    clock.advance(by: .seconds(5))
    await expectFailure(SessionError.timedOut) { try await waiting.value }
    door.open()
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0])
  }

  @Test func `with the machine's clock, each waits as long as its own policy says`() async throws {
    func waiting(_ timeout: Duration, at door: Door) throws -> Task<Int, any Error> {
      var policy = RefreshPolicy()
      policy.timeout = timeout
      let session = UserSession(
        container: try StoreContainer<Token>(MemoryStore(), service: "mail"),
        storageIdentifier: "token",
        refresher: SessionRefresher(policy: policy) { _ in
          await door.pass()
          return .refreshed(Token(number: 1))
        })
      try session.didLogIn(Token(expirationDate: .distantPast))
      return Task { try await session.validItem().number }
    }
    let doors = (0..<3).map { _ in Door() }
    let patient = try waiting(.seconds(86400), at: doors[0])
    await doors[0].waitForArrival()
    for (timeout, door) in [(60, doors[1]), (20, doors[2])] {
      let time = try await ContinuousClock().measure {
        let impatient = try waiting(.milliseconds(timeout), at: door)
        await expectFailure(SessionError.timedOut) { try await impatient.value }
      }
      #expect(time >= .milliseconds(timeout))
    }
    for door in doors { door.open() }
    #expect(try await patient.value == 1)
  }

  @Test func `no more callers may wait than the policy allows`() async throws {
    let session = try server.session(store) { $0.maximumWaiterCount = 3 }
    try session.didLogIn(server.token(in: .zero))
    holdNext()
    let waiting = (0..<3).map { _ in Task { try await session.validItem().number } }
    // The other sleeper is the handler's deadline.
    await clock.waitForSleepers(count: 4)
    await expectFailure(SessionError.tooManyWaiters) { try await session.validItem() }
    door.open()
    for task in waiting { #expect(try await task.value == 1) }
  }

  @Test func `a handler that asks for a valid item gets an error`() async throws {
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    let server = server
    server.next { request in
      await expectFailure(SessionError.reentrant) { try await session.validItem() }
      // Also by way of another session's refresh.
      let other = try server.session(MemoryStore())
      try other.didLogIn(server.token(in: .zero, number: 10))
      server.next { request in
        await expectFailure(SessionError.reentrant) { try await session.validItem() }
        return .refreshed(server.renewed(request.item))
      }
      #expect(try await other.validItem().number == 11)
      return .refreshed(server.renewed(request.item))
    }
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [10, 0])
  }

  @Test func `an item that another process refreshed meanwhile is adopted`() async throws {
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    // Another process holds the name of the refresh, and stores its item.
    let name = try ItemName("token", in: "mail")
    let (held, isHeld) = AsyncStream.makeStream(of: Void.self)
    let other = Task { [store, server, clock] in
      try await store.withExclusiveAccess(to: name.refreshLock, timeout: .seconds(10)) {
        isHeld.finish()
        await clock.waitForSleepers(count: 1)
        let token = server.token(in: .seconds(3600), number: 5)
        try await store.put(SecretBytes(try JSONEncoder().encode(token)), for: name)
      }
    }
    for await _ in held {}
    #expect(try await session.validItem().number == 5)
    try await other.value
    #expect(server.requests.isEmpty)
  }

  // MARK: - Reading the item

  /// Each caller reads it once, and the refresh before it sends the item, and when the new one is
  /// stored.
  @Test(arguments: [true, false])
  func `a refresh with ten waiters reads the item twelve times`(isAtOnce: Bool) async throws {
    let faulty = FaultyStore(store)
    let sessions = try (0..<5).map { _ in try server.session(faulty) }
    try sessions[0].didLogIn(server.token(in: .zero))
    holdNext()
    faulty.removeCalls()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<10 {
        group.addTask { try await sessions[number % 5].validItem().number }
        if number == 0, !isAtOnce { await door.waitForArrival() }
      }
      await clock.waitForSleepers(count: 11)
      door.open()
      for try await number in group { #expect(number == 1) }
    }
    #expect(faulty.callCount(of: [.value]) == 12)
    #expect(server.spent == [0])
  }

  @Test func `a caller after a change sees it, although others have read before`() async throws {
    let slow = SlowStore()
    let session = try server.session(slow)
    try await session.signIn(server.token(in: .seconds(3600)))
    slow.holdNextRead(at: door)
    let early = Task { try await session.validItem().number }
    await door.waitForArrival()
    try await session.save(server.token(in: .seconds(3600), number: 5))
    let late = (0..<10).map { _ in Task { try await session.validItem().number } }
    for _ in 0..<1000 { await Task.yield() }
    door.open()
    #expect(try await early.value == 0)
    for task in late { #expect(try await task.value == 5) }
  }

  /// The joined refresh has stored the very item that the server rejects, and has not ended.
  @Test func `a caller whose item is rejected gets another one than that of the refresh it joins`()
    async throws
  {
    let slow = SlowStore()
    let session = try server.session(slow)
    try await session.signIn(server.token(in: .zero))
    slow.holdNextChange(at: door)
    let first = Task { try await session.validItem().number }
    await door.waitForArrival()
    let response = Task {
      try await session.withValidItem {
        $0.number
      } isRejected: {
        $0 == 1
      }
    }
    // The first caller, and this one.
    await clock.waitForSleepers(count: 2)
    door.open()
    #expect(try await first.value == 1)
    #expect(try await response.value == 2)
    #expect(server.spent == [0, 1])
  }

  @Test func `a user who signs in while a refresh hangs has a valid item at once`() async throws {
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    holdNext()
    let waiting = Task { try await session.validItem().number }
    await door.waitForArrival()
    try await session.signIn(server.token(in: .seconds(3600), number: 50))
    #expect(try await session.validItem().number == 50)
    try await session.update(server.token(in: .seconds(3600), number: 60))
    #expect(try await session.validItem().number == 60)
    door.open()
    #expect(try await waiting.value == 60)
  }

  /// As when another process signs in after the refresh has stored its item, and before it has
  /// ended.
  @Test func `a caller after the item was stored does not get an item that was replaced`()
    async throws
  {
    let (server, clock, store) = (server, clock, store)
    let name = try ItemName("token", in: "mail")
    let (asking, held) = (
      Shared<Task<Token, any Error>?>(nil), Shared<UserSession<Token>?>(nil)
    )
    let session = UserSession(
      container: try StoreContainer<Token>(store, service: "mail"), storageIdentifier: "token",
      refresher: SessionRefresher(
        clock: clock,
        expiration: { token in
          // The refresh checks the item that it has stored.
          guard token.number == 1, asking.current == nil, let session = held.current else {
            return token.expirationDate
          }
          let other = server.token(in: .zero, number: 20)
          // swift-format-ignore: NeverUseForceTry
          let bytes = SecretBytes(try! JSONEncoder().encode(other))
          store.apply([.put(bytes, for: name)])
          let isWaiting = DispatchSemaphore(value: 0)
          // Detached, because within the refresh the call would be reentrant.
          asking.update { $0 = Task.detached { try await session.validItem() } }
          Task.detached {
            // The first caller, and this one.
            await clock.waitForSleepers(count: 2)
            isWaiting.signal()
          }
          #expect(isWaiting.wait(timeout: .now() + .seconds(60)) == .success)
          return token.expirationDate
        }
      ) { request in
        // The sleepers are the first caller and the handler's deadline.
        await clock.waitForSleepers(count: 2)
        return .refreshed(server.renewed(request.item))
      })
    held.update { $0 = session }
    try session.didLogIn(server.token(in: .zero))
    // This caller has waited since before that.
    #expect(try await session.validItem().number == 1)
    let late = try #require(asking.current)
    #expect(try await late.value.number == 21)
    held.update { $0 = nil }
  }

  @Test func `sessions of different items, and of different stores, do not wait`() async throws {
    let first = try server.session(store)
    let other = try server.session(MemoryStore())
    let named = UserSession(
      container: first.container, storageIdentifier: "other", refresher: server.refresher())
    for session in [first, other, named] { try session.didLogIn(server.token(in: .zero)) }
    holdNext()
    let waiting = Task { try await first.validItem().number }
    await door.waitForArrival()
    #expect(try await other.validItem().number == 1)
    #expect(try await named.validItem().number == 1)
    door.open()
    #expect(try await waiting.value == 1)
  }
}
