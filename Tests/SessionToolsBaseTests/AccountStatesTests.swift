import Foundation
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestStores
import SessionToolsTestSupport
import Testing

/// A store in memory that counts how often its names are listed, and that another process changes.
private struct ListedStore: BlockingSecretStore, ForwardingStore {
  let base = MemoryStore()
  let listCount = Shared(0)
  let executor = BlockingExecutor(maximumThreadCount: 1)

  func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  func apply(_ changes: [StoreChange]) { base.apply(changes) }
  func names(in namespace: StoreNamespace?) -> [ItemName] {
    listCount.update { $0 += 1 }
    return base.names(in: namespace)
  }
}

@Suite(.timeLimit(.minutes(5))) struct `the states of all accounts` {
  let server = TokenServer()
  let ada: AccountIdentifier
  let bob: AccountIdentifier

  init() throws {
    ada = try AccountIdentifier("ada")
    bob = try AccountIdentifier("bob")
  }

  private func accounts(in store: some SecretStore) throws -> UserAccounts<Token> {
    try UserAccounts(
      container: StoreContainer<Token>(store, service: "mail"), refresher: server.refresher())
  }

  /// Returns the states as texts.
  private func texts(_ states: [AccountState]?) -> [String]? { states?.map { "\($0)" } }

  @Test func `come at first, and at each change by any process`() async throws {
    let store = MemoryStore()
    let accounts = try accounts(in: store)
    let others = try self.accounts(in: OtherProcess(base: store))
    try await accounts.signIn(server.token(in: nil), as: bob)
    var states = accounts.states.makeAsyncIterator()
    #expect(texts(await states.next()) == ["bob: signed in"])
    try await others.signIn(server.token(in: .zero), as: ada)
    #expect(texts(await states.next()) == ["ada: signed in", "bob: signed in"])
    server.next { _ in .rejected(TestError()) }
    await expectFailure(SessionError.rejected) {
      try await others.session(of: ada).validItem()
    }
    // Another process's store may stop between the record and the removal.
    var newer = texts(await states.next())
    if newer == ["ada: signed in", "bob: signed in"] { newer = texts(await states.next()) }
    #expect(newer == ["ada: signed out by the server: TestError", "bob: signed in"])
    try await others.signIn([ada: server.token(in: nil)])
    #expect(texts(await states.next()) == ["ada: signed in", "bob: signed in"])
    try await accounts.remove(bob)
    #expect(texts(await states.next()) == ["ada: signed in"])
    try await others.session(of: ada).signOut()
    #expect(await states.next() == [])
  }

  @Test func `show another reason when the user is rejected again`() async throws {
    let accounts = try accounts(in: MemoryStore())
    var states = accounts.states.makeAsyncIterator()
    #expect(await states.next() == [])
    for reason in ["revoked", "expired"] {
      try await accounts.session(of: ada).signIn(server.token(in: .zero))
      server.next { _ in .rejected(StoreError(.io, store: "server", reason: reason)) }
      await expectFailure(SessionError.rejected) {
        try await accounts.session(of: ada).validItem()
      }
      var text = texts(await states.next())
      // Those between may be missed.
      if text == ["ada: signed in"] { text = texts(await states.next()) }
      #expect(text == ["ada: signed out by the server: server: \(reason)."])
    }
  }

  @Test func `show another reason when only the record is another one`() async throws {
    let store = MemoryStore()
    let accounts = try accounts(in: store)
    for (account, reason) in [(bob, "expired"), (ada, "revoked")] {
      try await accounts.signIn(server.token(in: .zero), as: account)
      server.next { _ in .rejected(StoreError(.io, store: "server", reason: reason)) }
      await expectFailure(SessionError.rejected) {
        try await accounts.session(of: account).validItem()
      }
    }
    var states = accounts.states.makeAsyncIterator()
    #expect(texts(await states.next())?.first == "ada: signed out by the server: server: revoked.")
    let records = try [ada, bob].map { try ItemName("account/\($0)/user/rejected", in: "mail") }
    let expired = try #require(try await store.value(for: records[1]))
    try await store.put(expired, for: records[0])
    #expect(texts(await states.next())?.first == "ada: signed out by the server: server: expired.")
  }

  @Test func `are not listed again when items are refreshed or other names change`() async throws {
    let store = ListedStore()
    let accounts = try accounts(in: store)
    try await accounts.signIn(server.token(in: .zero), as: ada)
    var states = accounts.states.makeAsyncIterator()
    #expect(texts(await states.next()) == ["ada: signed in"])
    let count = store.listCount.current
    for _ in 0..<5 { _ = try await accounts.session(of: ada).validItem(.always) }
    try await store.put(SecretBytes(utf8: "x"), for: ItemName("other", in: "mail"))
    try await store.put(SecretBytes(utf8: "x"), for: ItemName("account/eve/user", in: "other"))
    try await accounts.session(of: bob).signIn(server.token(in: nil))
    #expect(texts(await states.next()) == ["ada: signed in", "bob: signed in"])
    #expect(store.listCount.current == count + 1)
  }

  @Test func `stay as they are while the store cannot be read, which is polled`() async throws {
    let faulty = FaultyStore(MemoryStore())
    let accounts = try accounts(in: faulty)
    try await accounts.signIn(server.token(in: nil), as: ada)
    faulty.lock()
    var states = accounts.states.makeAsyncIterator()
    // The first list is not known yet; nothing reports that it can be read.
    await server.clock.waitForSleepers(count: 1)
    faulty.unlock(isReported: false)
    server.clock.advance(by: .seconds(1))
    #expect(texts(await states.next()) == ["ada: signed in"])
    faulty.lock()
    faulty.unlock(isReported: true)
    try await accounts.session(of: bob).signIn(server.token(in: nil))
    #expect(texts(await states.next()) == ["ada: signed in", "bob: signed in"])
  }

  @Test func `hold no item`() async throws {
    let accounts = try accounts(in: MemoryStore())
    try await accounts.signIn(server.token(in: nil, number: 987_654), as: ada)
    var text = ""
    dump(try await accounts.currentStates(), to: &text)
    #expect(text.contains("ada") && !text.contains("987654"))
  }
}
