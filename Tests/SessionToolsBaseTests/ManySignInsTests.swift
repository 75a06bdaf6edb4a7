import Foundation
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestStores
import SessionToolsTestSupport
import Testing

/// A store in memory that accepts small lists of changes.
private struct LimitedStore: BlockingSecretStore, ForwardingStore {
  let base = MemoryStore()
  let executor = BlockingExecutor(maximumThreadCount: 1)
  var maximumChangeCount = Int.max
  var maximumListByteCount = Int.max
  let lists = Shared<[Int]>([])
  let byteCounts = Shared<[Int]>([])
  /// The lists that are refused, by their number.
  var refused: Set<Int> = []

  var traits: StoreTraits {
    StoreTraits(
      isAtomic: true, isDurable: false, seesOtherProcesses: false, excludesOtherProcesses: false,
      maximumValueByteCount: 1000, maximumChangeCount: maximumChangeCount,
      maximumListByteCount: maximumListByteCount)
  }

  func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }

  func apply(_ changes: [StoreChange]) throws(StoreError) {
    let byteCount = changes.reduce(0) { $0 + $1.listByteCount }
    guard changes.count <= maximumChangeCount, byteCount <= maximumListByteCount,
      !refused.contains(lists.current.count)
    else {
      throw StoreError(
        .noSpace, store: "test", reason: "the list is refused", remedy: "Make space")
    }
    lists.update { $0.append(changes.count) }
    byteCounts.update { $0.append(byteCount) }
    base.apply(changes)
  }
}

@Suite(.timeLimit(.minutes(5))) struct `many users signed in in parts` {
  private func users(_ count: Int) throws -> [AccountIdentifier: User] {
    try Dictionary(
      uniqueKeysWithValues: (0..<count).map {
        (try AccountIdentifier("user \($0)"), User(id: "\($0)"))
      })
  }

  private func accounts(
    in store: LimitedStore, _ poster: Recorder = Recorder()
  ) throws -> UserAccounts<User> {
    try UserAccounts(
      container: StoreContainer<User>(store, service: "mail"), notificationPoster: poster)
  }

  @Test func `are as many at once as the store's lists may have changes`() async throws {
    let (store, poster) = (LimitedStore(maximumChangeCount: 40), Recorder())
    let accounts = try accounts(in: store, poster)
    let users = try users(50)
    try await accounts.signIn(users)
    #expect(store.lists.current == [40, 40, 20])
    #expect(try await accounts.all() == users.keys.sorted())
    #expect(
      poster.posts.current.map(\.object)
        == users.keys.sorted().map { ObjectIdentifier(accounts.session(of: $0)) })
  }

  @Test func `need exclusive access to each only in a store that does not compare`() async throws {
    let (store, faulty) = (OneStepStore(), FaultyStore(MemoryStore()))
    for store in [store, faulty] as [any SecretStore] {
      let accounts = try UserAccounts(container: StoreContainer<User>(store, service: "mail"))
      try await accounts.signIn(try users(20))
      #expect(try await accounts.all().count == 20)
    }
    #expect(store.exclusiveNames.isEmpty)
    #expect(faulty.callCount(of: [.exclusiveAccess]) == 20)
  }

  @Test func `are as many at once as the store's lists may have bytes`() async throws {
    let store = LimitedStore(maximumListByteCount: 2000)
    let accounts = try accounts(in: store)
    let users = try users(50)
    try await accounts.signIn(users)
    #expect(store.lists.current.count > 1)
    #expect(store.lists.current.reduce(0, +) == 100)
    #expect(try await accounts.all().count == 50)
  }

  @Test func `stay signed in up to the part that fails, which says how many they are`()
    async throws
  {
    let (store, poster) = (LimitedStore(maximumChangeCount: 20, refused: [2]), Recorder())
    let accounts = try accounts(in: store, poster)
    let users = try users(50)
    let error = await expectFailure(StoreError.noSpace) { try await accounts.signIn(users) }
    #expect(
      error?.description.contains("before that, the first 20 of 50 users were signed in") == true)
    #expect(error?.remedy == "Make space")
    #expect(try await accounts.all() == Array(users.keys.sorted().prefix(20)))
    #expect(poster.changes == Array(repeating: "loggedIn", count: 20))
    // Again, with all of them.
    var repaired = store
    repaired.refused = []
    try await self.accounts(in: repaired).signIn(users)
    #expect(try await accounts.all().count == 50)
  }

  @Test func `are not signed in at all when the first part fails`() async throws {
    let accounts = try accounts(in: LimitedStore(maximumChangeCount: 20, refused: [0]))
    let error = await expectFailure(StoreError.noSpace) { try await accounts.signIn(try users(50)) }
    #expect(error?.description.contains("before that") == false)
    #expect(try await accounts.all().isEmpty)
  }

  @Test func `are of the largest size that the store takes`() async throws {
    let user = User(id: "1")
    let byteCount = try JSONEncoder().encode(user).count
    let largest = User(id: "1" + String(repeating: "0", count: 1000 - byteCount))
    #expect(try JSONEncoder().encode(largest).count == 1000)
    let accounts = try accounts(in: LimitedStore())
    try await accounts.signIn([try AccountIdentifier("a"): largest])
    #expect(try await accounts.all().count == 1)
  }

  @Test func `fill a list to its last byte`() async throws {
    let (unlimited, users) = (LimitedStore(), try users(9))
    try await accounts(in: unlimited).signIn(users)
    let store = LimitedStore(maximumListByteCount: unlimited.byteCounts.current[0])
    try await accounts(in: store).signIn(users)
    #expect(store.lists.current == unlimited.lists.current)
  }

  @Test func `are not stored at all when one of them is refused for itself`() async throws {
    let store = LimitedStore(maximumChangeCount: 4)
    let accounts = try accounts(in: store)
    var users = try users(50)
    users[try AccountIdentifier("user 9")] = User(id: String(repeating: "x", count: 1000))
    let error = await expectFailure(StoreError.valueTooLarge) { try await accounts.signIn(users) }
    #expect(error?.description.contains("account/user 9/user") == true)
    #expect(try await store.names(in: nil).isEmpty)
  }

  @Test func `are refused by a store that accepts no list with one of them`() async throws {
    let store = LimitedStore(maximumChangeCount: 1)
    let accounts = try accounts(in: store)
    await expectFailure(StoreError.noSpace) { try await accounts.signIn(users(2)) }
    #expect(try await store.names(in: nil).isEmpty)
  }
}
