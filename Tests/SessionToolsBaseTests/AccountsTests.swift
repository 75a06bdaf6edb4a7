import Dispatch
import Foundation
import SessionToolsBase
import Testing

/// A store in memory that counts how often its names are listed.
private struct ListCountingStore: BlockingSecretStore {
  let store = MemoryStore()
  let listCount = Shared(0)

  var queue: DispatchQueue { store.queue }
  var traits: StoreTraits { store.traits }

  func value(for key: StoreKey) -> SecretBytes? { store.value(for: key) }
  func apply(_ changes: [StoreChange]) { store.apply(changes) }
  func keys(in namespace: Namespace?) -> [StoreKey] {
    listCount.update { $0 += 1 }
    return store.keys(in: namespace)
  }
  func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try store.withExclusiveAccess(to: key, timeout: timeout, body)
  }
  func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await store.withExclusiveAccess(to: key, timeout: timeout, body)
  }
  func changes() -> AsyncStream<StoreEvent> { store.changes() }
}

@Suite(.timeLimit(.minutes(20))) struct `several accounts` {
  let store = MemoryStore()
  let poster = Recorder()
  let accounts: Accounts<User>
  let ada: AccountIdentifier
  let bob: AccountIdentifier

  init() throws {
    accounts = try Accounts(
      container: StoreContainer<User>(store, service: "mail"), notificationPoster: poster)
    ada = try AccountIdentifier("ada")
    bob = try AccountIdentifier("bob")
  }

  @Test func `they are listed, and the last to sign in is the current one`() async throws {
    #expect(try await accounts.all().isEmpty)
    #expect(try await accounts.current() == nil)
    #expect(try await accounts.currentSession() == nil)
    try await accounts.signIn(User(id: "b"), as: bob)
    try await accounts.signIn(User(id: "a"), as: ada)
    #expect(try await accounts.all() == [ada, bob])
    #expect(try await accounts.currentSession()?.currentUser?.id == "a")
    #expect(accounts.session(of: bob).currentUser?.id == "b")
  }

  @Test func `to sign in lists no names, however many accounts there are`() async throws {
    let counting = ListCountingStore()
    let accounts = try Accounts(container: StoreContainer<User>(counting, service: "mail"))
    for number in 0..<20 {
      let account = try AccountIdentifier("\(number)")
      try await accounts.signIn(User(id: "\(number)"), as: account)
      #expect(try await accounts.current() == account)
    }
    #expect(counting.listCount.current == 0)
    #expect(try await accounts.all().count == 20)
    #expect(counting.listCount.current == 1)
  }

  @Test func `another one is made current, but none that is not there`() async throws {
    try await accounts.signIn(User(id: "a"), as: ada)
    try await accounts.signIn(User(id: "b"), as: bob)
    try await accounts.makeCurrent(ada)
    #expect(try await accounts.current() == ada)
    await expectFailure(SessionError.notSignedIn) {
      try await accounts.makeCurrent(AccountIdentifier("eve"))
    }
    #expect(try await accounts.current() == ada)
  }

  @Test func `one is removed with all of its items, and no other`() async throws {
    try await accounts.signIn(User(id: "a"), as: ada)
    try await accounts.signIn(User(id: "b"), as: bob)
    let settings = StoreContainer<String>(store, namespace: "mail", account: bob)
    try await settings.asyncStoreItem("dark", forIdentifier: "settings")
    try await accounts.remove(bob)
    #expect(try await accounts.all() == [ada])
    #expect(try await accounts.current() == nil)
    #expect(try await store.keys(in: nil).map(\.identifier) == ["account/ada/user"])
    #expect(poster.changes == ["loggedIn", "loggedIn", "loggedOut"])
    try await accounts.remove(bob)
    #expect(poster.changes.count == 3)
  }

  @Test func `a current account that another process removed is none`() async throws {
    try await accounts.signIn(User(id: "a"), as: ada)
    try await store.remove(StoreKey("account/ada/user", in: "mail"))
    #expect(try await accounts.current() == nil)
  }

  @Test func `a session of an account is the same object each time`() throws {
    #expect(accounts.session(of: ada) === accounts.session(of: ada))
    #expect(accounts.session(of: ada) !== accounts.session(of: bob))
  }

  @Test(arguments: [
    ("a/b", "c", "a", "b/c"), ("a%2Fb", "c", "a/b", "c"), ("a%", "2Fb", "a%2F", "b"),
    ("a", "b", "A", "b"), ("e\u{301}", "x", "\u{e9}", "x"), ("a ", "b", "a", " b"),
  ])
  func `names that look alike are of different accounts`(
    account: String, identifier: String, otherAccount: String, otherIdentifier: String
  ) async throws {
    let own = StoreContainer<String>(
      store, namespace: "mail", account: try AccountIdentifier(account))
    let others = StoreContainer<String>(
      store, namespace: "mail", account: try AccountIdentifier(otherAccount))
    try await own.asyncStoreItem("mine", forIdentifier: identifier)
    #expect(try await others.asyncLoadItem(forIdentifier: otherIdentifier) == nil)
    #expect(try await accounts.all() == [AccountIdentifier(account)])
    try await others.asyncStoreItem("theirs", forIdentifier: otherIdentifier)
    #expect(try await own.asyncLoadItem(forIdentifier: identifier) == "mine")
    #expect(try await accounts.all().count == 2)
  }

  @Test func `items of no account are nobody's`() async throws {
    for identifier in ["user", "account/", "account/a", "account/a%2/b", "account/a/b/c"] {
      try await store.put(SecretBytes(utf8: "x"), for: StoreKey(identifier, in: "mail"))
    }
    #expect(try await accounts.all().isEmpty)
  }

  @Test func `an identifier has 1 to 1,024 bytes, whatever they are`() async throws {
    #expect(throws: StoreError.self) { try AccountIdentifier("") }
    #expect(throws: StoreError.self) { try AccountIdentifier(String(repeating: "x", count: 1025)) }
    let longest = try AccountIdentifier(String(repeating: "/", count: 1024))
    try await accounts.signIn(User(id: "l"), as: longest)
    #expect(try await accounts.current() == longest)
  }

  @Test func `the current account is told whenever it becomes another`() async throws {
    var current = accounts.currentAccounts.makeAsyncIterator()
    #expect(await current.next() == .some(nil))
    try await accounts.signIn(User(id: "a"), as: ada)
    #expect(await current.next() == ada)
    // By another process, as it were.
    let others = try Accounts<User>(container: accounts.container)
    try await others.signIn(User(id: "b"), as: bob)
    #expect(await current.next() == bob)
    try await others.remove(bob)
    #expect(await current.next() == .some(nil))
  }

  @Test func `a store that cannot be read is an error, and never no account`() async throws {
    let locked = try Accounts(
      container: StoreContainer<User>(RefusingStore(StoreError.locked), service: "mail"))
    await expectFailure(StoreError.locked) { try await locked.all() }
    await expectFailure(StoreError.locked) { try await locked.current() }
    expectFailure(StoreError.locked) { try locked.current() }
    try await store.put(SecretBytes([0xff]), for: StoreKey("current-account", in: "mail"))
    await expectFailure(StoreError.corrupt) { try await accounts.current() }
  }

  @Test func `each account is refreshed by itself`() async throws {
    let server = TokenServer()
    let accounts = try Accounts(
      container: StoreContainer<Token>(store, service: "mail"), refresher: server.refresher())
    try await accounts.signIn(server.token(in: .zero, number: 10), as: ada)
    try await accounts.signIn(server.token(in: .zero, number: 20), as: bob)
    #expect(try await accounts.session(of: ada).validItem().number == 11)
    #expect(try await accounts.session(of: bob).validItem().number == 21)
    #expect(server.spent == [10, 20])
  }
}
