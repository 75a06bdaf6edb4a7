import Dispatch
import SessionToolsBase
import SessionToolsTestStores
import SessionToolsTestSupport
import SessionToolsTesting
import Synchronization
import Testing

/// A store in memory as another process reaches it, which cannot tell at first which one it is.
private struct LateIdentityStore: BlockingSecretStore, ForwardingStore {
  let base: MemoryStore
  let executor = BlockingExecutor(maximumThreadCount: 1)
  let isKnown = Shared(false)

  func identity() throws(StoreError) -> String? {
    guard isKnown.current else {
      throw StoreError(.unavailable, store: "store", reason: "it cannot tell")
    }
    return base.identity()
  }

  func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  func apply(_ changes: [StoreChange]) { base.apply(changes) }
  func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }
}

/// A store in memory in which another process makes changes right before it is looked up whether an
/// item was rejected.
private struct ChangingStore: BlockingSecretStore, ForwardingStore {
  let base = MemoryStore()
  let executor = BlockingExecutor(maximumThreadCount: 1)
  let next = Shared<[StoreChange]>([])

  func value(for name: ItemName) -> SecretBytes? {
    if name.identifier.hasSuffix("/rejected") { base.apply(next.current) }
    return base.value(for: name)
  }

  func apply(_ changes: [StoreChange]) { base.apply(changes) }
  func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }
}

@Suite struct `the states of a session` {
  let store = MemoryStore()
  let session: Session<User>

  init() throws {
    session = Session(
      container: try StoreContainer<User>(store, service: "mail"), storageIdentifier: "user")
  }

  @Test func `they begin with the current state and continue with each change`() async throws {
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.word == "signedOut")
    try await session.save(User(id: "ada"))
    #expect(await states.next()?.item?.id == "ada")
    try session.updateItem(User(id: "bob"))
    #expect(await states.next()?.item?.id == "bob")
    try await session.remove()
    #expect(await states.next()?.word == "signedOut")
  }

  @Test func `they report what others change, and what cannot be read`() async throws {
    let name = try ItemName("user", in: "mail")
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.word == "signedOut")
    try await store.put(SecretBytes(utf8: "damaged"), for: name)
    #expect(await states.next()?.word == "unavailable: undecodable")
    try await store.put(SecretBytes(utf8: #"{"id":"eve","token":"t"}"#), for: name)
    #expect(await states.next()?.item?.id == "eve")
  }

  @Test func `they report the same state once, and nothing of other items`() async throws {
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.word == "signedOut")
    try await session.remove()
    try await store.put(SecretBytes(utf8: "x"), for: ItemName("other", in: "mail"))
    try await session.save(User(id: "ada"))
    #expect(await states.next()?.item?.id == "ada")
    try await session.save(User(id: "ada"))
    try await session.save(User(id: "bob"))
    #expect(await states.next()?.item?.id == "bob")
  }

  @Test func `they report that the server signed a user out who was signed out, once`() async throws
  {
    let server = TokenServer()
    let accounts = try UserAccounts(
      container: StoreContainer<Token>(store, service: "mail"), refresher: server.refresher())
    let (ada, bob) = (try AccountIdentifier("ada"), try AccountIdentifier("bob"))
    try await accounts.signIn(server.token(in: .zero), as: bob)
    server.next { _ in .rejected(TestError()) }
    await expectFailure(SessionError.rejected) { try await accounts.session(of: bob).validItem() }
    let records = try [ada, bob].map { try ItemName("account/\($0)/user/rejected", in: "mail") }
    let rejection = try #require(try await store.value(for: records[1]))

    let session = accounts.session(of: ada)
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.word == "signedOut")
    // The user had signed in for a moment, which the listener has missed.
    let item = try ItemName("account/ada/user", in: "mail")
    try await store.apply([.put(rejection, for: records[0]), .remove(item)])
    guard case .signedOut(.rejected)? = await states.next() else {
      Issue.record("no rejection was reported")
      return
    }
    try await store.apply([.put(rejection, for: records[0]), .remove(item)])
    try await session.signIn(server.token(in: nil))
    #expect(await states.next()?.item?.number == 0)
  }

  /// With the item, the record of a rejection is removed, and neither is found.
  @Test func `they say that a user is signed in who signed in between two reads`() async throws {
    let (server, store) = (TokenServer(), ChangingStore())
    let ada = try AccountIdentifier("ada")
    let other = try UserAccounts(container: StoreContainer<Token>(store.base, service: "mail"))
    try await other.signIn(server.token(in: nil), as: ada)
    let item = try ItemName("account/ada/user", in: "mail")
    let value = try #require(store.value(for: item))
    try await store.base.apply([.remove(item)])
    let session = try UserAccounts(container: StoreContainer<Token>(store, service: "mail"))
      .session(of: ada)
    #expect(session.state.word == "signedOut")
    store.next.update { $0 = [.put(value, for: item)] }
    #expect(session.state.item?.number == 0)
    try await store.base.apply([.remove(item)])
    #expect(await session.currentState().item?.number == 0)
  }

  @Test func `they continue when another listener stops`() async throws {
    let session = Session<User>(container: OldContainer<User>(), storageIdentifier: "user")
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.word == "signedOut")
    do {
      var others = session.states.makeAsyncIterator()
      #expect(await others.next()?.word == "signedOut")
    }
    // The other stream ends at some time during these.
    for number in 0..<100 {
      try await session.save(User(id: "\(number)"))
      #expect(await states.next()?.item?.id == "\(number)")
    }
  }

  @Test func `a store that can never tell which one it is costs a session nothing it knows`()
    async throws
  {
    let server = TokenServer()
    let session = try server.session(LateIdentityStore(base: store))
    try await session.signIn(server.token(in: .zero))
    server.next { _ in .rejected(TestError()) }
    await expectFailure(SessionError.rejected) { try await session.validItem() }
    for state in [session.state, await session.currentState()] {
      guard case .signedOut(.rejected) = state else {
        Issue.record("\(state)")
        return
      }
    }
  }

  @Test func `they are not polled while the store can be read`() async throws {
    let server = TokenServer()
    let faulty = FaultyStore(store)
    let session = try server.session(faulty)
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.word == "signedOut")
    try await session.signIn(server.token(in: nil))
    #expect(await states.next()?.item?.number == 0)
    #expect(server.clock.sleeperCount == 0)
    faulty.lock()
    faulty.unlock(isReported: true)
    try await session.signOut()
    #expect(await states.next()?.word == "signedOut")
    #expect(server.clock.sleeperCount == 0)
  }

  @Test func `they are shared once the store can tell which one it is`() async throws {
    let server = TokenServer()
    let stores = (0..<2).map { _ in LateIdentityStore(base: store) }
    let sessions = try stores.map { try server.session($0) }
    for session in sessions { #expect(session.state.word == "signedOut") }
    for store in stores { store.isKnown.update { $0 = true } }
    try await sessions[0].signIn(server.token(in: .zero))
    #expect(sessions[1].state.item?.number == 0)
    server.next { _ in .rejected(TestError(text: "revoked")) }
    await expectFailure(SessionError.rejected) { try await sessions[0].validItem() }
    guard case .signedOut(.rejected(let reason)) = sessions[1].state else {
      Issue.record("\(sessions[1].state)")
      return
    }
    #expect(reason as? TestError == TestError(text: "revoked"))
  }

  @Test func `a listener that falls behind gets the newest state`() async throws {
    let states = session.states
    for number in 0..<500 { try await session.save(User(id: "\(number)")) }
    for await state in states where state.item?.id == "499" { break }
  }

  @Test func `every listener has a stream of its own`() async throws {
    var first = session.states.makeAsyncIterator()
    var second = session.states.makeAsyncIterator()
    #expect(await first.next()?.word == "signedOut")
    #expect(await second.next()?.word == "signedOut")
    try await session.save(User(id: "ada"))
    #expect(await first.next()?.item?.id == "ada")
    #expect(await second.next()?.item?.id == "ada")
  }

  @Test func `they work over an old container`() async throws {
    let session = Session(container: OldContainer<User>(), storageIdentifier: "user")
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.word == "signedOut")
    try await session.save(User(id: "ada"))
    #expect(await states.next()?.item?.id == "ada")
    try session.deleteItem()
    #expect(await states.next()?.word == "signedOut")
  }

  @Test func `they end after the first state if the store reports no changes`() async throws {
    let session = Session(
      container: try StoreContainer<User>(RefusingStore(StoreError.locked), service: "mail"),
      storageIdentifier: "user")
    var words: [String] = []
    for await state in session.states { words.append(state.word) }
    #expect(words == ["unavailable: locked"])
  }

  @Test func `a dropped stream releases the session`() async throws {
    let container = session.container
    var owned: Session<User>? = Session(container: container, storageIdentifier: "user")
    weak let released = owned
    var states: AsyncStream<SessionState<User>>? = owned?.states
    owned = nil
    for await _ in try #require(states) { break }
    states = nil
    try await wait(until: "the session is released") { released == nil }
  }

  @Test func `a cancelled listener stops`() async throws {
    let session = session
    let isListening = Shared(false)
    let listener = Task {
      for await _ in session.states { isListening.update { $0 = true } }
    }
    try await wait(until: "it listens") { isListening.current }
    listener.cancel()
    await listener.value
  }
}

@Suite(.timeLimit(.minutes(20))) struct `the states of a session whose store was locked` {
  @Test func `they recover when it is unlocked, although the store does not report it`()
    async throws
  {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store)
    try session.didLogIn(server.token(in: nil, number: 3))
    store.lock()
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.word == "unavailable: locked")
    for _ in 0..<6 {
      await server.clock.waitForSleepers(count: 1)
      server.clock.advance(by: .seconds(15))
    }
    await server.clock.waitForSleepers(count: 1)
    store.unlock(isReported: false)
    server.clock.advance(by: .seconds(15))
    // The same state was not reported again in between.
    #expect(await states.next()?.item?.number == 3)
  }
}
