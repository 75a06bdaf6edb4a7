import SessionToolsBase
import SessionToolsTestStores
import SessionToolsTesting
import Testing

/// Sessions on a store whose exclusive access may end early; `DatabaseStoreTests` has a real one.
@Suite(.timeLimit(.minutes(5))) struct `sessions of a store that leases` {
  let server = TokenServer()

  @Test func `a refresh gets the item with its turn`() async throws {
    let store = LeasedStore()
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    #expect(try await session.validItem().number == 1)
    #expect(store.readingCount == 1)
  }

  @Test func `no token is sent in a turn that is lost, which is tried once more`() async throws {
    let store = LeasedStore(isAlwaysLost: true)
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    await #expect {
      try await session.validItem()
    } throws: { error in
      (error as? StoreError)?.code == .exclusionLost
    }
    #expect(server.requests.isEmpty)
    #expect(store.readingCount == 2)
    #expect(try await session.item()?.number == 0)
  }

  @Test func `a request is asked to end when its turn is about to`() async throws {
    let store = LeasedStore()
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    server.next { _ in
      store.loseExclusion()
      try await Task.sleep(for: .seconds(3600))
      throw CancellationError()
    }
    let error = await expectFailure(SessionError.temporarilyFailed) {
      try await session.validItem()
    }
    #expect(error?.underlying is CancellationError)
    #expect(server.spent.isEmpty)
  }

  @Test func `a request whose turn lasts is not asked to end`() async throws {
    let session = try server.session(LeasedStore())
    try session.didLogIn(server.token(in: .zero))
    server.next { [server] request in
      try await Task.sleep(for: .milliseconds(100))
      return .refreshed(server.renewed(request.item))
    }
    #expect(try await session.validItem().number == 1)
  }
}
