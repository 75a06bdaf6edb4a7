import Foundation
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestStores
import SessionToolsTestSupport
import Testing

/// The items of a store as another process reaches them: the sessions of both share nothing else.
struct OtherProcess: BlockingSecretStore, ForwardingStore {
  let base: MemoryStore
  let executor = BlockingExecutor(maximumThreadCount: 1)

  func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  func apply(_ changes: [StoreChange]) { base.apply(changes) }
  func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }
}

/// A store in memory that notes the lists of changes that it makes in one step.
private final class ListNotingStore: BlockingConditionalStore, ForwardingStore {
  let base = MemoryStore()
  let executor = BlockingExecutor(maximumThreadCount: 1)
  let lists = Shared<[[String]]>([])

  func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }

  func apply(_ changes: [StoreChange]) {
    note(changes)
    base.apply(changes)
  }

  func apply(_ changes: [StoreChange], if condition: ItemCondition) -> ChangeOutcome {
    note(changes)
    return base.apply(changes, if: condition)
  }

  private func note(_ changes: [StoreChange]) {
    lists.update { lists in
      lists.append(
        changes.map { change in
          switch change {
          case .put(_, for: let name): "put \(name.identifier)"
          case .remove(let name): "remove \(name.identifier)"
          }
        })
    }
  }
}

/// A store in memory that other processes change right after its names are listed.
private struct RacingStore: BlockingSecretStore, ForwardingStore {
  let base = MemoryStore()
  let executor = BlockingExecutor(maximumThreadCount: 1)
  let listCount = Shared(0)
  /// The changes behind the next listing.
  let next = Shared<[StoreChange]>([])
  /// Names whose items are gone each time when they are read.
  let fleeting = Shared<[ItemName]>([])

  func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  func apply(_ changes: [StoreChange]) { base.apply(changes) }
  func names(in namespace: StoreNamespace?) -> [ItemName] {
    listCount.update { $0 += 1 }
    defer {
      base.apply(next.current)
      next.update { $0 = [] }
    }
    return base.names(in: namespace) + fleeting.current
  }
}

/// A store in memory that cannot read an item, and then nothing that is read together with it.
private struct UnreadableItemStore: BlockingSecretStore, MigratableStore, ForwardingStore {
  let base = MemoryStore()
  let executor = BlockingExecutor(maximumThreadCount: 1)
  let unreadable: ItemName
  let code: StoreError.Code

  func value(for name: ItemName) throws(StoreError) -> SecretBytes? {
    if name == unreadable { throw StoreError(code, store: "store", reason: "it cannot be read") }
    return base.value(for: name)
  }

  func values(ofFirst names: ArraySlice<ItemName>) throws(StoreError) -> [SecretBytes?] {
    var values: [SecretBytes?] = []
    for name in names { values.append(try value(for: name)) }
    return values
  }

  func apply(_ changes: [StoreChange]) { base.apply(changes) }
  func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }
}

/// An error whose description quotes a secret.
private struct TalkativeError: Error, CustomStringConvertible {
  let description = "the server said no to s3cret"
}

@Suite(.timeLimit(.minutes(5))) struct `an account that the server rejected` {
  let store = MemoryStore()
  let server = TokenServer()
  let ada: AccountIdentifier
  let bob: AccountIdentifier

  init() throws {
    ada = try AccountIdentifier("ada")
    bob = try AccountIdentifier("bob")
  }

  private func accounts(
    in store: some SecretStore, poster: (any NotificationPosting)? = nil
  ) throws -> UserAccounts<Token> {
    try UserAccounts(
      container: StoreContainer<Token>(store, service: "mail"), notificationPoster: poster,
      refresher: server.refresher())
  }

  /// Signs a user in to an account and has the next refresh rejected.
  private func reject(
    _ account: AccountIdentifier, in accounts: UserAccounts<Token>,
    with error: any Error = StoreError(.io, store: "server", reason: "the grant was revoked")
  ) async throws {
    try await accounts.signIn(server.token(in: .zero), as: account)
    server.next { _ in .rejected(error) }
    await expectFailure(SessionError.rejected) {
      try await accounts.session(of: account).validItem()
    }
  }

  private func reason(_ state: SessionState<Token>) -> (any Error)? {
    guard case .signedOut(.rejected(let error)) = state else { return nil }
    return error
  }

  @Test func `stays listed in every process, with the reason and the time`() async throws {
    let accounts = try accounts(in: store)
    try await accounts.signIn(server.token(in: nil), as: bob)
    try await reject(ada, in: accounts)
    let others = try self.accounts(in: OtherProcess(base: store))
    for accounts in [accounts, others] {
      #expect(try await accounts.all() == [ada, bob])
      #expect(try await accounts.current() == ada)
      let states = try await accounts.currentStates()
      #expect(states.map(\.account) == [ada, bob])
      guard case .rejected(let rejection) = states[0].status else {
        Issue.record("\(states)")
        return
      }
      #expect(rejection.reason == "server: the grant was revoked.")
      #expect(abs(rejection.date.timeIntervalSince(server.clock.now)) < 0.001)
      #expect(states[1].status == .signedIn)
    }
    // The process that refreshed has the handler's own error; others have what is recorded.
    let session = accounts.session(of: ada)
    #expect(reason(session.state) is StoreError)
    #expect(reason(await session.currentState()) is StoreError)
    let other = others.session(of: ada)
    let recorded = try #require(reason(other.state) as? RecordedRejection)
    #expect(recorded.reason == "server: the grant was revoked.")
    #expect(reason(await other.currentState()) as? RecordedRejection == recorded)
    #expect("\(recorded)" == recorded.reason)
    #expect("\(other.state)".hasSuffix("by the server: server: the grant was revoked."))
    try await others.makeCurrent(ada)
  }

  @Test func `is recorded in the change that removes the item, and no longer by a sign-in`()
    async throws
  {
    let store = ListNotingStore()
    let accounts = try accounts(in: store)
    try await reject(ada, in: accounts)
    try accounts.session(of: ada).didLogIn(server.token(in: nil))
    try await accounts.session(of: ada).signOut()
    let (item, record) = ("account/ada/user", "account/ada/user/rejected")
    #expect(
      store.lists.current == [
        ["put \(item)", "remove \(record)"], ["put current-account"],
        ["put \(record)", "remove \(item)"], ["put \(item)", "remove \(record)"],
        ["remove \(record)", "remove \(item)"],
      ])
  }

  @Test func `is signed in again by a sign-in in any process`() async throws {
    let accounts = try accounts(in: store)
    try await reject(ada, in: accounts)
    let others = try self.accounts(in: OtherProcess(base: store))
    try await others.signIn([ada: server.token(in: nil, number: 7)])
    #expect(try await accounts.currentStates().map(\.status) == [.signedIn])
    #expect(try await accounts.session(of: ada).item()?.number == 7)
    #expect(try await store.names(in: nil).count == 2, "the user, and which account is current")
    try await others.session(of: ada).signOut()
    #expect(try await accounts.all().isEmpty, "what was recorded before does not come back")
    #expect(reason(accounts.session(of: ada).state) == nil)
  }

  @Test(arguments: [false, true])
  func `is gone when its user signs out, or the program removes it`(isRemoved: Bool) async throws {
    let accounts = try accounts(in: store)
    try await reject(ada, in: accounts)
    let others = try self.accounts(in: OtherProcess(base: store))
    if isRemoved {
      try await others.remove(ada)
    } else {
      try await others.session(of: ada).signOut()
    }
    #expect(try await accounts.all().isEmpty)
    #expect(reason(await accounts.session(of: ada).currentState()) == nil)
    try await accounts.remove(ada)
    #expect(try await store.names(in: nil).isEmpty)
  }

  @Test func `has the reason of the last rejection, whichever process was told`() async throws {
    let accounts = try accounts(in: store)
    try await reject(ada, in: accounts)
    let others = try self.accounts(in: OtherProcess(base: store))
    try await reject(
      ada, in: others, with: StoreError(.io, store: "server", reason: "the account is closed"))
    for state in [
      accounts.session(of: ada).state, await accounts.session(of: ada).currentState(),
    ] {
      let recorded = try #require(reason(state) as? RecordedRejection)
      #expect(recorded.reason == "server: the account is closed.")
    }
  }

  @Test func `is removed by a session that signs out without blocking or with`() async throws {
    let accounts = try accounts(in: store)
    try await reject(ada, in: accounts)
    try accounts.session(of: ada).didLogOut()
    try await reject(bob, in: accounts)
    try await accounts.session(of: bob).remove()
    #expect(try await accounts.all().isEmpty)
  }

  @Test func `keeps a sign-in that was faster than the rejection`() async throws {
    let accounts = try accounts(in: store)
    try await accounts.signIn(server.token(in: .zero), as: ada)
    let (server, ada) = (server, ada)
    server.next { _ in
      try await accounts.session(of: ada).signIn(server.token(in: .seconds(3600), number: 9))
      return .rejected(TestError())
    }
    #expect(try await accounts.session(of: ada).validItem().number == 9)
    #expect(try await accounts.currentStates().map(\.status) == [.signedIn])
    try await accounts.remove(ada)
    #expect(try await store.names(in: nil).isEmpty)
  }

  @Test func `is not recorded when its user signed out before the rejection`() async throws {
    let accounts = try accounts(in: store)
    try await accounts.signIn(server.token(in: .zero), as: ada)
    let ada = ada
    server.next { _ in
      try await accounts.session(of: ada).signOut()
      return .rejected(TestError())
    }
    await expectFailure(SessionError.notSignedIn) {
      try await accounts.session(of: ada).validItem()
    }
    #expect(try await accounts.all().isEmpty)
  }

  @Test func `has a record without secrets, however much the server says`() async throws {
    let accounts = try accounts(in: store)
    try await reject(ada, in: accounts, with: TalkativeError())
    try await reject(
      bob, in: accounts,
      with: StoreError(.io, store: "server", reason: String(repeating: "x", count: 100_000)))
    for name in try await store.names(in: nil) where name.identifier.hasSuffix("/rejected") {
      let value = try #require(try await store.value(for: name))
      #expect(!String(decoding: value.copyBytes(), as: UTF8.self).contains("s3cret"))
      #expect(value.byteCount < 2000)
    }
    let others = try self.accounts(in: OtherProcess(base: store))
    let reasons = [ada, bob].map { others.session(of: $0).state }.map {
      (reason($0) as? RecordedRejection)?.reason
    }
    #expect(reasons.first == "TalkativeError")
    #expect(reasons.last??.count == 1000)
    // The handler's error is recognized though its text was shortened.
    #expect(reason(accounts.session(of: bob).state) is StoreError)
  }

  @Test func `is recorded first by a store that may stop between two changes`() async throws {
    let faulty = FaultyStore(store, isAtomic: false)
    let accounts = try accounts(in: faulty)
    try await accounts.signIn(server.token(in: .zero), as: ada)
    // The record is made, and the item stays: it counts.
    faulty.inject(.torn(after: 1), into: [.apply])
    server.next { _ in .rejected(TestError()) }
    await #expect(throws: StoreError.self) {
      try await accounts.session(of: ada).validItem()
    }
    #expect(try await accounts.currentStates().map(\.status) == [.signedIn])
    #expect(accounts.session(of: ada).state.item != nil)
    // A sign-in that stops after its item is one, too.
    faulty.inject(.torn(after: 1), into: [.apply])
    await expectFailure(StoreError.outcomeUnknown) {
      try await accounts.session(of: ada).signIn(server.token(in: nil, number: 5))
    }
    #expect(try await accounts.currentStates().map(\.status) == [.signedIn])
    #expect(try await accounts.session(of: ada).item()?.number == 5)
    // A sign-out that stops leaves the item, and no record that would say otherwise.
    faulty.inject(.torn(after: 1), into: [.apply])
    await expectFailure(StoreError.outcomeUnknown) {
      try await accounts.session(of: ada).signOut()
    }
    #expect(try await accounts.session(of: ada).item()?.number == 5)
    try await accounts.session(of: ada).signOut()
    #expect(try await accounts.all().isEmpty)
  }

  @Test func `costs a sign-in no read`() async throws {
    let store = OneStepStore()
    let accounts = try accounts(in: store)
    let session = accounts.session(of: ada)
    try session.didLogIn(server.token(in: .zero))
    try await session.signIn(server.token(in: .zero, number: 1))
    #expect(store.readCount == 0)
    #expect(try await session.validItem().number == 2)
    #expect(store.readCount == 2)
    #expect(store.conditionalCount == 1)
  }

  @Test func `is not shown while the store is locked, and then again`() async throws {
    let faulty = FaultyStore(store)
    let accounts = try accounts(in: faulty)
    try await reject(ada, in: accounts)
    faulty.lock()
    await expectFailure(StoreError.locked) { try await accounts.currentStates() }
    #expect(accounts.session(of: ada).state.word == "unavailable: locked")
    faulty.unlock()
    #expect(reason(accounts.session(of: ada).state) != nil)
  }

  @Test func `costs the list of accounts nothing when its record cannot be read`() async throws {
    let accounts = try accounts(in: store)
    let record = try ItemName("account/ada/user/rejected", in: "mail")
    try await store.put(SecretBytes(utf8: "x"), for: record)
    #expect(try await accounts.all() == [ada])
    let states = try await accounts.currentStates()
    guard case .rejected(let unread)? = states.first?.status, states.count == 1 else {
      Issue.record("\(states)")
      return
    }
    #expect(unread.date == .distantPast && unread.reason.contains("decode"))
    #expect(accounts.session(of: ada).state.word == "unavailable: undecodable")
    try await accounts.signIn(server.token(in: nil), as: ada)
    #expect(try await accounts.currentStates().map(\.status) == [.signedIn])
  }

  @Test func `has no reason when its record is damaged, and the others have theirs`() async throws {
    let record = try ItemName("account/ada/user/rejected", in: "mail")
    let store = UnreadableItemStore(unreadable: record, code: .corrupt)
    let accounts = try accounts(in: store)
    for account in [ada, bob] { try await reject(account, in: accounts) }
    let reasons = try await accounts.currentStates().map { state in
      guard case .rejected(let rejection) = state.status else { return "\(state)" }
      return rejection.reason
    }
    #expect(reasons == ["store: it cannot be read.", "server: the grant was revoked."])
  }

  @Test func `is an error of the list when the store did not answer`() async throws {
    let record = try ItemName("account/ada/user/rejected", in: "mail")
    let accounts = try accounts(in: UnreadableItemStore(unreadable: record, code: .unavailable))
    try await reject(ada, in: accounts)
    await expectFailure(StoreError.unavailable) { try await accounts.currentStates() }
    // One that reads the records one by one.
    let faulty = FaultyStore(store)
    let others = try self.accounts(in: faulty)
    try await reject(ada, in: others)
    faulty.inject(.failing(StoreError.unavailable), into: [.value], of: record)
    await expectFailure(StoreError.unavailable) { try await others.currentStates() }
  }

  @Test func `is signed in if it signed in while the accounts were listed`() async throws {
    let store = RacingStore()
    let accounts = try accounts(in: store)
    let (item, record) = (
      try ItemName("account/ada/user", in: "mail"),
      try ItemName("account/ada/user/rejected", in: "mail")
    )
    try await accounts.signIn(server.token(in: nil), as: ada)
    let user = try #require(store.value(for: item))
    try await reject(ada, in: accounts)
    #expect(try await accounts.currentStates().count == 1)
    #expect(store.listCount.current == 1)
    store.next.update { $0 = [.put(user, for: item), .remove(record)] }
    #expect(try await accounts.currentStates().map(\.status) == [.signedIn])
    #expect(store.listCount.current == 3)
  }

  @Test func `is listed in the end, however often others sign in and out meanwhile`() async throws {
    let store = RacingStore()
    let record = try ItemName("account/ada/user/rejected", in: "mail")
    store.fleeting.update { $0 = [record] }
    let accounts = try accounts(in: store)
    #expect(try await accounts.currentStates().map(\.status) == [.signedOut])
    #expect(store.listCount.current == 3)
  }

  @Test func `is the only kind of session whose rejection is recorded`() async throws {
    let session = try server.session(store)
    #expect(session.account == nil)
    try await session.signIn(server.token(in: .zero))
    server.next { _ in .rejected(TestError()) }
    await expectFailure(SessionError.rejected) { try await session.validItem() }
    #expect(try await store.names(in: nil).isEmpty)
    #expect(try accounts(in: store).session(of: ada).account == ada)
    let old = Session<Token>(container: OldContainer<Token>(), storageIdentifier: "user")
    #expect(old.account == nil)
  }

  @Test func `is listed when another of its items was rejected, or all others are gone`()
    async throws
  {
    let accounts = try accounts(in: store)
    try await accounts.signIn(server.token(in: nil), as: ada)
    let upload = UserSession(
      container: accounts.container.items(of: ada), storageIdentifier: "upload",
      refresher: server.refresher())
    try await upload.signIn(server.token(in: .zero))
    server.next { _ in .rejected(TestError()) }
    await expectFailure(SessionError.rejected) { try await upload.validItem() }
    #expect(try await accounts.currentStates().map(\.status) == [.signedIn])
    try await accounts.session(of: ada).signOut()
    #expect(try await accounts.currentStates().map(\.status) == [.signedOut])
    try await accounts.remove(ada)
    #expect(try await store.names(in: nil).isEmpty)
  }
}
