import Foundation
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestStores
import Testing

/// Refreshes of an item whose store fails.
@Suite(.timeLimit(.minutes(20))) struct `a refresh whose store fails` {
  /// The fault of one call.
  enum Kind: CaseIterable {
    case failing, locked, madeButNotSaid, notMadeAndNotSaid
    /// As in a store that is not atomic.
    case madeAndFailing

    var fault: FaultyStore.Fault {
      switch self {
      case .failing: .failing()
      case .locked: .failing(StoreError.locked)
      case .madeButNotSaid: .outcomeUnknown(isMade: true)
      case .notMadeAndNotSaid: .outcomeUnknown(isMade: false)
      case .madeAndFailing: .torn(after: 1, StoreError.io)
      }
    }
  }

  /// Each of the calls of a refresh fails, one at a time.
  @Test(arguments: Kind.allCases)
  func `at any call signs no user out and spends no token twice`(kind: Kind) async throws {
    /// Returns the number of calls.
    func calls(_ spoil: (FaultyStore) -> Void) async throws -> Int {
      let store = FaultyStore(MemoryStore(), isAtomic: false)
      var count = 0
      try await refresh(store) {
        store.removeCalls()
        spoil(store)
      } until: {
        count = store.calls.count
        store.removeFaults()
      }
      return count
    }
    let count = try await calls { _ in }
    #expect(count > 5)
    for number in 0..<count { _ = try await calls { $0.inject(kind.fault, after: number) } }
  }

  @Test(arguments: [
    OneStepStore.Fault.exclusionLost, .outcomeUnknown(isMade: true),
    .outcomeUnknown(isMade: false),
  ])
  func `at a change that compares for itself signs no user out and spends no token twice`(
    fault: OneStepStore.Fault
  ) async throws {
    for number in 1...2 { try await refresh(OneStepStore(fault, at: [number])) }
  }

  /// Refreshes an item until it succeeds, with a store that a test may spoil for that time.
  private func refresh(
    _ store: some SecretStore, from spoil: () -> Void = {}, until repair: () -> Void = {}
  ) async throws {
    let server = TokenServer()
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    spoil()
    // A refresh that gives up leaves its state to the next one.
    var item: Token?
    for _ in 0..<5 where item == nil {
      item = try? await session.validItem()
      server.clock.advance(by: .seconds(30))
    }
    repair()
    #expect(item?.number == 1)
    // The first token was sent once, and no other token was.
    #expect(server.spent == [0])
    let stored = try await session.item()
    #expect(stored?.number == 1)
    guard case .signedIn = await session.currentState() else {
      throw TestError(text: "signed out")
    }
    _ = try await session.validItem(.always)
    #expect(server.spent == [0, 1])
    #expect(try await store.names(in: nil).count == 1, "something is left")
  }

  @Test func `when it stores the new item stores it later without another request`() async throws {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    store.inject(.failing(StoreError.locked), into: [.apply], times: 3)
    for _ in 0..<3 {
      let error = await #expect(throws: StoreError.self) { try await session.validItem() }
      #expect(error?.code == .locked)
    }
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0])
  }

  @Test(arguments: [StoreError.unavailable, StoreError.timedOut, StoreError.outcomeUnknown])
  func `when it cannot be reached for a while lets no one else send the spent token`(
    code: StoreError.Code
  ) async throws {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    let lock = try #require(try await store.names(in: nil).first).refreshLock
    store.inject(.failing(code), into: [.apply], times: 3)
    let waiting = Task { try await session.validItem() }
    for pause in [Duration.milliseconds(500), .seconds(1)] {
      await server.clock.waitForSleeper(within: pause)
      await expectFailure(StoreError.timedOut) {
        try await store.withExclusiveAccess(to: lock, timeout: .zero) { () async throws in }
      }
      server.clock.advance(by: pause)
    }
    #expect(try await waiting.value.number == 1)
    #expect(server.spent == [0])
  }

  @Test func `when it cannot be reached for longer keeps the new item`() async throws {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    store.inject(.failing(StoreError.unavailable), into: [.apply], times: nil)
    let waiting = Task { try await session.validItem() }
    for pause in [0.5, 1, 2, 4, 8, 10] {
      await server.clock.waitForSleeper(within: .seconds(pause))
      server.clock.advance(by: .seconds(pause))
    }
    await expectFailure(StoreError.unavailable) { try await waiting.value }
    store.removeFaults()
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0])
  }

  @Test func `because it is slow lets waiters time out`() async throws {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store) { $0.timeout = .seconds(5) }
    try session.didLogIn(server.token(in: .zero))
    store.inject(.slow(.seconds(20), by: server.clock), into: [.apply])
    let clock = server.clock
    let passing = Task {
      while !Task.isCancelled {
        clock.advance(by: .seconds(1))
        for _ in 0..<1000 { await Task.yield() }
      }
    }
    await expectFailure(SessionError.timedOut) { try await session.validItem() }
    var number: Int?
    while number == nil { number = try? await session.validItem().number }
    passing.cancel()
    #expect(number == 1)
    #expect(server.spent == [0])
  }

  @Test func `while the wall clock jumps is one refresh`() async throws {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    store.inject(.clockJump(.seconds(-86_400), of: server.clock), into: [.apply])
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0])
  }
}
