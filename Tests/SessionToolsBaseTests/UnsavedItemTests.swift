import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestStores
import Testing

/// What becomes of an item that a server has issued and that is not stored yet.
@Suite(.timeLimit(.minutes(5))) struct `an item that is not stored yet` {
  let clock: ManualClock
  let server: TokenServer

  init() {
    clock = ManualClock()
    server = TokenServer(clock)
  }

  /// As with a store that makes no changes for a cancelled task.
  @Test func `the item of a handler that answers after it was cancelled is stored`() async throws {
    let clock = clock
    let session = try server.session(CancellableStore()) { $0.handlerTimeout = .seconds(20) }
    try await session.signIn(server.token(in: .zero))
    server.next { [server] request in
      while !Task.isCancelled { await Task.yield() }
      return .refreshed(server.renewed(request.item))
    }
    let waiting = Task { try await session.validItem().number }
    await clock.waitForSleeper(within: .seconds(20))
    clock.advance(by: .seconds(20))
    #expect(try await waiting.value == 1)
    #expect(server.spent == [0])
  }

  @Test func `an item outlives the session that could not store it`() async throws {
    let store = FaultyStore(MemoryStore())
    let name = try ItemName("token", in: "mail")
    do {
      let session = try server.session(store)
      try session.didLogIn(server.token(in: .zero))
      store.inject(.failing(StoreError.noSpace), into: [.apply], of: name)
      await expectFailure(StoreError.noSpace) { try await session.validItem() }
    }
    #expect(try await server.session(store).validItem().number == 1)
    #expect(server.spent == [0])
  }

  @Test func `a session that ends leaves the others what they share`() async throws {
    let store = FaultyStore(MemoryStore())
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    do { #expect(try server.session(store).currentUser?.number == 0) }
    let later = try server.session(store)
    #expect(later.currentUser?.number == 0)
    server.next { _ in .rejected(TestError()) }
    await expectFailure(SessionError.rejected) { try await session.validItem() }
    guard case .signedOut(.rejected) = later.state else {
      Issue.record("\(later.state)")
      return
    }
  }

  /// Another session of the item refreshes between the sign-in's change and its end.
  @Test func `a sign-in keeps what the new user's refresh could not store yet`() async throws {
    let store = InterruptedStore()
    let session = try server.session(store)
    let other = try server.session(store)
    store.interruptNextChange {
      store.refuseNextChange()
      await expectFailure(StoreError.locked) { try await other.validItem() }
    }
    try await session.signIn(server.token(in: .zero))
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0])
  }

  /// A new user signs in and refreshes between the sign-out's change and its end.
  @Test(arguments: [true, false])
  func `a sign-out keeps what a new user's refresh could not store yet`(blocks: Bool) async throws {
    let store = InterruptedStore()
    let session = try server.session(store)
    let other = try server.session(store)
    try await session.signIn(server.token(in: .zero))
    let next = server.token(in: .zero, number: 5)
    store.interruptNextChange {
      await #expect(throws: Never.self) { try await other.signIn(next) }
      store.refuseNextChange()
      await expectFailure(StoreError.locked) { try await other.validItem() }
    }
    if blocks {
      try await blocking { try session.didLogOut() }
    } else {
      try await session.signOut()
    }
    #expect(try await session.validItem().number == 6)
    #expect(server.spent == [5])
  }

  /// The user is refreshed between the sign-out's beginning and its change.
  @Test(arguments: [true, false])
  func `what is not stored yet does not bring back a user who signed out`(
    anotherSignsIn: Bool
  ) async throws {
    let store = InterruptedStore()
    let session = try server.session(store)
    let other = try server.session(store)
    try await session.signIn(server.token(in: .zero))
    store.interruptNextChange(isMade: false) {
      store.refuseNextChange()
      await expectFailure(StoreError.locked) { try await other.validItem() }
    }
    try await session.signOut()
    #expect(server.spent == [0])
    if anotherSignsIn {
      // As by another process, of which this one has no session.
      let next = server.token(in: .zero, number: 5)
      try await StoreContainer<Token>(store, service: "mail")
        .asyncStoreItem(next, forIdentifier: "token")
      #expect(try await session.validItem().number == 6)
    } else {
      await expectFailure(SessionError.notSignedIn) { try await session.validItem() }
      #expect(try await store.names(in: nil).isEmpty)
    }
  }
}

/// A store in memory that makes no changes for a cancelled task.
private final class CancellableStore: AsyncSecretStore, ForwardingStore {
  let base = MemoryStore()

  func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await base.asyncValue(for: name)
  }
  func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    guard !Task.isCancelled else {
      throw StoreError(.cancelled, store: "test", reason: "the task was cancelled")
    }
    try await base.asyncApply(changes)
  }
  func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await base.asyncNames(in: namespace)
  }
}

/// A store in memory that does other work during one of its changes.
private final class InterruptedStore: AsyncSecretStore, ForwardingStore {
  let base = MemoryStore()
  private let work = Shared<(isMade: Bool, body: @Sendable () async -> Void)?>(nil)
  private let refuses = Shared(false)

  /// Does other work when the next change has been made, or is about to be made.
  func interruptNextChange(isMade: Bool = true, _ body: @escaping @Sendable () async -> Void) {
    work.update { $0 = (isMade, body) }
  }
  func refuseNextChange() { refuses.update { $0 = true } }

  func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await base.asyncValue(for: name)
  }
  func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await base.asyncNames(in: namespace)
  }
  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    // A change is made under it, and the refresh in between needs it as well.
    try body()
  }
  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await body()
  }

  func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    guard
      !refuses.update({ refuses in
        defer { refuses = false }
        return refuses
      })
    else { throw StoreError(.locked, store: "test", reason: "it is locked") }
    let work = work.update { $0.take() }
    if work?.isMade != false { try await base.asyncApply(changes) }
    await work?.body()
    if work?.isMade == false { try await base.asyncApply(changes) }
  }
}
