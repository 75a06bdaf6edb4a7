import Foundation
import SessionToolsBase
import SessionToolsTesting
import Testing

/// Refreshes of an item whose store fails.
@Suite(.timeLimit(.minutes(20))) struct `a refresh whose store fails` {
  /// What goes wrong with one call.
  enum Kind: CaseIterable {
    case failing, locked, madeButNotSaid, notMadeAndNotSaid

    var fault: Fault {
      switch self {
      case .failing: .failing()
      case .locked: .failing(StoreError.locked)
      case .madeButNotSaid: .outcomeUnknown(isMade: true)
      case .notMadeAndNotSaid: .outcomeUnknown(isMade: false)
      }
    }
  }

  /// One at a time, the calls that a refresh makes.
  @Test(arguments: Kind.allCases, [true, false])
  func `at whichever call, signs nobody out and spends no token twice`(
    kind: Kind, isAtomic: Bool
  ) async throws {
    let callCount = try await refresh { _ in }
    #expect(callCount > 5)
    for number in 0..<callCount {
      _ = try await refresh(isAtomic: isAtomic) { $0.inject(kind.fault, after: number) }
    }
  }

  @Test func `that is torn at whichever change, signs nobody out and spends no token twice`()
    async throws
  {
    let callCount = try await refresh { _ in }
    for number in 0..<callCount {
      for changeCount in 1...2 {
        _ = try await refresh(isAtomic: false) {
          $0.inject(.torn(after: changeCount, StoreError.io), into: [.apply], after: number)
        }
      }
    }
  }

  /// Refreshes an item until that works, with something that goes wrong.
  ///
  /// - Returns: How many calls the store got.
  private func refresh(
    isAtomic: Bool = true, _ spoil: (FaultyStore) -> Void
  ) async throws -> Int {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore(), isAtomic: isAtomic)
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    store.removeCalls()
    spoil(store)
    // One that gives up lets the next one find what it has left.
    var item: Token?
    for _ in 0..<5 where item == nil {
      item = try? await session.validItem()
      server.clock.advance(by: .seconds(30))
    }
    let calls = store.calls
    store.removeFaults()
    #expect(item?.number == 1)
    // The first token was sent once, and nobody asked for more than the next.
    #expect(server.spent == [0], "\(calls.map(\.operation))")
    let stored = try await session.item()
    #expect(stored?.number == 1)
    guard case .signedIn = await session.currentState() else {
      throw TestError(text: "signed out")
    }
    // Whatever was left is cleared by the next one.
    _ = try await session.validItem(.always)
    #expect(server.spent == [0, 1])
    #expect(try await store.keys(in: nil).count == 1, "a mark is left")
    return calls.count
  }

  @Test func `before the token is on record as spent, does not send it`() async throws {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    store.inject(.failing(StoreError.noSpace), into: [.apply], times: nil)
    await #expect(throws: StoreError.self) { try await session.validItem() }
    #expect(server.requests.isEmpty)
    store.removeFaults()
    #expect(try await session.validItem().number == 1)
    #expect(server.requests.map(\.mayBeSpent) == [false])
  }

  @Test func `when the new item is to be stored, stores it later without another request`()
    async throws
  {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    store.inject(.failing(StoreError.locked), into: [.apply], after: 1, times: 3)
    for _ in 0..<3 {
      let error = await #expect(throws: StoreError.self) { try await session.validItem() }
      #expect(error?.code == StoreError.locked)
    }
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0])
  }

  @Test func `by being slow, lets those go who have no time`() async throws {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store) { $0.timeout = .seconds(5) }
    try session.didLogIn(server.token(in: .zero))
    store.inject(.slow(.seconds(20), by: server.clock), into: [.apply])
    let waiting = Task { try await session.validItem() }
    await server.clock.waitForSleepers(count: 2)
    server.clock.advance(by: .seconds(5))
    await expectFailure(SessionError.timedOut) { try await waiting.value }
    server.clock.advance(by: .seconds(15))
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0])
  }

  @Test func `with a wall clock that jumps meanwhile, is one refresh`() async throws {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    store.inject(.clockJump(.seconds(-86_400), of: server.clock), into: [.apply])
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0])
  }
}
