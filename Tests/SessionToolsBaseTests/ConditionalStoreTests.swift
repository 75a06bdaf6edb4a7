import SessionToolsBase
import SessionToolsTestStores
import SessionToolsTesting
import Testing

/// Sessions on a store that looks at an item and changes it in one step.
@Suite(.timeLimit(.minutes(5))) struct `sessions of a store that compares for itself` {
  let server = TokenServer()

  @Test func `only a refresh has exclusive access, and once`() async throws {
    let store = OneStepStore()
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    try session.didUpdate(server.token(in: .zero, number: 1))
    #expect(store.exclusiveNames.isEmpty)
    #expect(try await session.validItem().number == 2)
    #expect(store.exclusiveNames.count == 1)
    #expect(store.conditionalCount == 1)
    try session.didLogOut()
    #expect(store.exclusiveNames.count == 1)
    #expect(try await store.names(in: nil).isEmpty)
  }

  @Test func `signing in and out has exclusive access only in a store that does not compare`()
    async throws
  {
    let store = OneStepStore()
    let faulty = FaultyStore(MemoryStore())
    for store in [store, faulty] as [any SecretStore] {
      let session = try server.session(store)
      try session.didLogIn(server.token(in: .zero))
      try session.didLogOut()
      try await session.signIn(server.token(in: .zero))
      try await session.signOut()
      #expect(try await store.names(in: nil).isEmpty)
    }
    #expect(store.exclusiveNames.isEmpty)
    #expect(faulty.callCount(of: [.exclusiveAccess]) == 4)
  }

  @Test func `a refresh reads the item when it is asked for, and once more in its turn`()
    async throws
  {
    let store = OneStepStore()
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    #expect(try await session.validItem().number == 1)
    #expect(store.readCount == 2)
    #expect(try await session.validItem(.always).number == 2)
    #expect(store.readCount == 4)
  }

  @Test func `a refresh does not replace what was stored meanwhile`() async throws {
    let store = OneStepStore()
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    server.next { [server] request in
      try session.didLogIn(server.token(in: .seconds(3600), number: 20))
      return .refreshed(server.renewed(request.item))
    }
    #expect(try await session.validItem().number == 20)
    #expect(try await session.item()?.number == 20)
  }

  @Test func `a new item is stored even if the refresh has lost its turn`() async throws {
    let store = OneStepStore(.exclusionLost, at: [1])
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0], "the old token is not sent again")
    #expect(store.exclusiveNames.count == 1, "stored before another turn")
    #expect(store.conditionalCount == 2)
  }

  @Test func `a turn that is always lost ends with that error`() async throws {
    let session = try server.session(OneStepStore(.exclusionLost, at: Set(1...100)))
    try session.didLogIn(server.token(in: .zero))
    await expectFailure(StoreError.Code.exclusionLost) { try await session.validItem() }
    #expect(server.spent == [0])
  }
}
