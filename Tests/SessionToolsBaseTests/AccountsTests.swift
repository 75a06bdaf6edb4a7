import Dispatch
import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTesting
import SessionToolsTestStores
import Testing

/// A store in memory that counts how often its names are listed, and each item is read.
private struct CallCountingStore: BlockingSecretStore, ForwardingStore {
  let base = MemoryStore()
  let listCount = Shared(0)
  let readCounts = Shared<[String: Int]>([:])

  var executor: BlockingExecutor { base.executor }

  func value(for name: ItemName) -> SecretBytes? {
    readCounts.update { $0[name.identifier, default: 0] += 1 }
    return base.value(for: name)
  }
  func apply(_ changes: [StoreChange]) { base.apply(changes) }
  func names(in namespace: StoreNamespace?) -> [ItemName] {
    listCount.update { $0 += 1 }
    return base.names(in: namespace)
  }
}

@Suite(.timeLimit(.minutes(20))) struct `several accounts` {
  let store = MemoryStore()
  let poster = Recorder()
  let accounts: UserAccounts<User>
  let ada: AccountIdentifier
  let bob: AccountIdentifier

  init() throws {
    accounts = try UserAccounts(
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

  @Test func `signing in lists no names, however many accounts there are`() async throws {
    let counting = CallCountingStore()
    let accounts = try UserAccounts(container: StoreContainer<User>(counting, service: "mail"))
    for number in 0..<20 {
      let account = try AccountIdentifier("\(number)")
      try await accounts.signIn(User(id: "\(number)"), as: account)
      #expect(try await accounts.current() == account)
    }
    #expect(counting.listCount.current == 0)
    #expect(try await accounts.all().count == 20)
    #expect(counting.listCount.current == 1)
  }

  @Test func `a name that only resembles one of an account's items is no account's`() async throws {
    for identifier in ["archive/ada/user", "account/%61da/user", "account/ada", "account/a/b/c"] {
      try await store.put(SecretBytes(utf8: "x"), for: ItemName(identifier, in: "mail"))
    }
    #expect(try await accounts.all().isEmpty)
  }

  @Test func `removing an account leaves another one the current one`() async throws {
    try await accounts.signIn(User(id: "b"), as: bob)
    try await accounts.signIn(User(id: "a"), as: ada)
    try await accounts.remove(bob)
    #expect(try await accounts.current() == ada)
    #expect(try await accounts.all() == [ada])
  }

  @Test func `an existing account can be made current, a missing one cannot`() async throws {
    try await accounts.signIn(User(id: "a"), as: ada)
    try await accounts.signIn(User(id: "b"), as: bob)
    try await accounts.makeCurrent(ada)
    #expect(try await accounts.current() == ada)
    await expectFailure(SessionError.notSignedIn) {
      try await accounts.makeCurrent(AccountIdentifier("eve"))
    }
    #expect(try await accounts.current() == ada)
  }

  @Test func `an account is removed with all of its items, and no other is`() async throws {
    try await accounts.signIn(User(id: "a"), as: ada)
    try await accounts.signIn(User(id: "b"), as: bob)
    let settings = StoreContainer<String>(store, namespace: "mail", account: bob)
    try await settings.asyncStoreItem("dark", forIdentifier: "settings")
    try await accounts.remove(bob)
    #expect(try await accounts.all() == [ada])
    #expect(try await accounts.current() == nil)
    #expect(try await store.names(in: nil).map(\.identifier) == ["account/ada/user"])
    #expect(poster.changes == ["loggedIn", "loggedIn", "loggedOut"])
    try await accounts.remove(bob)
    #expect(poster.changes.count == 3)
  }

  @Test func `there is no current account after another process removed it`() async throws {
    try await accounts.signIn(User(id: "a"), as: ada)
    try await store.remove(ItemName("account/ada/user", in: "mail"))
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
  func `similar names belong to different accounts`(
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

  @Test func `items that belong to no account are not listed as accounts`() async throws {
    for identifier in ["user", "account/", "account/a", "account/a%2/b", "account/a/b/c"] {
      try await store.put(SecretBytes(utf8: "x"), for: ItemName(identifier, in: "mail"))
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

  @Test func `the current account is reported whenever it changes`() async throws {
    var current = accounts.currentAccounts.makeAsyncIterator()
    #expect(await current.next() == .some(nil))
    try await accounts.signIn(User(id: "a"), as: ada)
    #expect(await current.next() == ada)
    // As if by another process.
    let others = try UserAccounts<User>(container: accounts.container)
    try await others.signIn(User(id: "b"), as: bob)
    #expect(await current.next() == bob)
    try await others.remove(bob)
    #expect(await current.next() == .some(nil))
  }

  @Test func `the current account is read again only for changes that can be about it`()
    async throws
  {
    let store = CallCountingStore()
    let accounts = try UserAccounts(container: StoreContainer<User>(store, service: "mail"))
    try await accounts.signIn([ada: User(id: "a"), bob: User(id: "b")])
    let (key, text) = (try ItemName("current-account", in: "mail"), SecretBytes(utf8: "ada"))
    try await store.put(text, for: key)
    store.readCounts.update { $0 = [:] }
    var current = accounts.currentAccounts.makeAsyncIterator()
    #expect(await current.next() == ada)
    let others = [
      try ItemName("other", in: "mail"), try ItemName("current-account", in: "other"),
      try ItemName("account/ada/user", in: "other"),
    ]
    for name in others {
      try await store.put(SecretBytes(utf8: "x"), for: name)
    }
    try await store.put(SecretBytes(utf8: "bob"), for: key)
    #expect(await current.next() == bob)
    #expect(store.readCounts.current["current-account"] == 2)
    try await store.apply([.remove(ItemName("account/bob/user", in: "mail"))])
    #expect(await current.next() == .some(nil))
  }

  @Test func `a store that cannot be read is an error, and never no account`() async throws {
    let locked = try UserAccounts(
      container: StoreContainer<User>(RefusingStore(StoreError.locked), service: "mail"))
    await expectFailure(StoreError.locked) { try await locked.all() }
    await expectFailure(StoreError.locked) { try await locked.current() }
    try await store.put(SecretBytes([0xff]), for: ItemName("current-account", in: "mail"))
    await expectFailure(StoreError.corrupt) { try await accounts.current() }
  }

  @Test func `each account is refreshed separately`() async throws {
    let server = TokenServer()
    let accounts = try UserAccounts(
      container: StoreContainer<Token>(store, service: "mail"), refresher: server.refresher())
    try await accounts.signIn(server.token(in: .zero, number: 10), as: ada)
    try await accounts.signIn(server.token(in: .zero, number: 20), as: bob)
    #expect(try await accounts.session(of: ada).validItem().number == 11)
    #expect(try await accounts.session(of: bob).validItem().number == 21)
    #expect(server.spent == [10, 20])
  }

  // MARK: - Many at once

  /// Returns some users, none of them with the account `ada` or `bob`.
  private func users(_ count: Int) throws -> [AccountIdentifier: User] {
    try Dictionary(
      uniqueKeysWithValues: (0..<count).map {
        (try AccountIdentifier("user \($0)"), User(id: "\($0)"))
      })
  }

  // Under a sanitizer, 10,000 take a quarter of an hour.
  @Test(arguments: TestSize.choose(small: [1000], medium: [1000, 10_000], large: [10_000]))
  func `many are signed in by one change, each as if alone`(count: Int) async throws {
    let faulty = FaultyStore(store)
    let accounts = try UserAccounts(
      container: StoreContainer<User>(faulty, service: "mail"), notificationPoster: poster)
    let users = try users(count)
    try await accounts.signIn(users)
    #expect(faulty.callCount(of: [.apply]) == 1)
    let inOrder = users.keys.sorted()
    #expect(try await accounts.all() == inOrder)
    #expect(try await store.names(in: nil).count == count)
    for account in inOrder {
      #expect(accounts.session(of: account).currentUser == users[account])
    }
    #expect(poster.changes == Array(repeating: "loggedIn", count: count))
    #expect(
      poster.posts.current.map(\.object)
        == inOrder.map { ObjectIdentifier(accounts.session(of: $0)) })
  }

  @Test func `signing in many keeps the current account, and signs out replaced users`()
    async throws
  {
    try await accounts.signIn(User(id: "a"), as: ada)
    try await accounts.signIn([ada: User(id: "x"), bob: User(id: "b")])
    #expect(try await accounts.current() == ada)
    #expect(accounts.session(of: ada).currentUser?.id == "x")
    #expect(poster.changes == ["loggedIn", "loggedOut", "loggedIn", "loggedIn"])
    try await accounts.signIn([:])
    #expect(poster.changes.count == 4)
  }

  @Test func `a session's states include a user who signed in as one of many`() async throws {
    var states = accounts.session(of: ada).states.makeAsyncIterator()
    #expect(await states.next()?.word == "signedOut")
    try await accounts.signIn([bob: User(id: "b"), ada: User(id: "a")])
    #expect(await states.next()?.item?.id == "a")
  }

  @Test func `an observer finds all users stored`() async throws {
    let (store, counts) = (store, Shared<[Int]>([]))
    let poster = Recorder { _ in counts.update { $0.append(store.names(in: nil).count) } }
    let accounts = try UserAccounts(container: accounts.container, notificationPoster: poster)
    try await accounts.signIn(users(3))
    #expect(counts.current == [3, 3, 3])
  }

  @Test func `users who sign in are not replaced by a refresh that is under way`() async throws {
    let server = TokenServer()
    let accounts = try UserAccounts(
      container: StoreContainer<Token>(store, service: "mail"), refresher: server.refresher())
    try await accounts.signIn(server.token(in: .zero), as: ada)
    let (ada, bob) = (ada, bob)
    server.next { request in
      let token = server.token(in: .seconds(3600), number: 50)
      try await accounts.signIn([ada: token, bob: token])
      return .refreshed(server.renewed(request.item))
    }
    #expect(try await accounts.session(of: ada).validItem().number == 50)
    #expect(try await accounts.session(of: bob).validItem().number == 50)
    #expect(server.spent == [0])
    #expect(
      try await store.names(in: nil).map(\.identifier)
        == ["account/ada/user", "account/bob/user", "current-account"])
  }

  @Test func `either all users are signed in or none, and a failure is not announced`() async throws
  {
    let faulty = FaultyStore(store)
    let accounts = try UserAccounts(
      container: StoreContainer<User>(faulty, service: "mail"), notificationPoster: poster)
    faulty.inject(.failing(StoreError.noSpace), into: [.apply])
    await expectFailure(StoreError.noSpace) { try await accounts.signIn(users(10)) }
    faulty.inject(.failing(StoreError.locked), into: [.exclusiveAccess], after: 4)
    await expectFailure(StoreError.locked) { try await accounts.signIn(users(10)) }
    #expect(try await store.names(in: nil).isEmpty)
    #expect(poster.changes.isEmpty)
    try await accounts.signIn(users(10))
    #expect(poster.changes.count == 10)
  }

  /// Returns the name that every change of an account's user locks.
  private func changeLock(of account: AccountIdentifier) throws -> ItemName {
    try ItemName("account/\(account)/user", in: "mail").changeLock
  }

  /// Accounts in a store that does not compare items itself.
  private func lockedAccounts() throws -> UserAccounts<User> {
    try UserAccounts(
      container: StoreContainer<User>(FaultyStore(store), service: "mail"),
      notificationPoster: poster)
  }

  @Test func `signing in many waits for a change of one user, but not forever`() async throws {
    let (accounts, ada, bob) = (try lockedAccounts(), ada, bob)
    let bobLock = try changeLock(of: bob)
    let error = try await store.withExclusiveAccess(to: bobLock, timeout: .seconds(1)) {
      await expectFailure(StoreError.timedOut) {
        try await accounts.signIn([ada: User(id: "a"), bob: User(id: "b")])
      }
    }
    #expect(error?.description.contains("account/bob/user") == true)
    #expect(poster.changes.isEmpty)
    // The names that were held are free again.
    try await accounts.signIn([ada: User(id: "a"), bob: User(id: "b")])
    #expect(try await accounts.all() == [ada, bob])
  }

  @Test func `a cancelled task stops waiting, and signs no user in`() async throws {
    let (accounts, ada, bob, store) = (try lockedAccounts(), ada, bob, store)
    let (adaLock, bobLock) = (try changeLock(of: ada), try changeLock(of: bob))
    try await store.withExclusiveAccess(to: bobLock, timeout: .seconds(1)) {
      let waiting = Task { try await accounts.signIn([ada: User(id: "a"), bob: User(id: "b")]) }
      // Waits until the task holds the first name, and leaves it time to get that.
      var isFree = true
      while isFree {
        try await Task.sleep(for: .milliseconds(5))
        let held: Void? = try? await store.withExclusiveAccess(to: adaLock, timeout: .zero) {}
        isFree = held != nil
      }
      waiting.cancel()
      await expectFailure(StoreError.cancelled) { try await waiting.value }
    }
    #expect(try await accounts.all().isEmpty)
  }

  @Test func `tasks that sign in the same users at the same time all succeed`() async throws {
    let (accounts, users) = (accounts, try users(30))
    let names = Array(users.keys)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for round in 0..<20 {
            // A part of the users, in another order each time.
            let some = names.shuffled().prefix(20).map { ($0, User(id: "\(task) \(round)")) }
            try await accounts.signIn(Dictionary(uniqueKeysWithValues: some))
            try await accounts.signIn(User(id: "alone"), as: names[round])
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await accounts.all() == names.sorted())
  }
}
