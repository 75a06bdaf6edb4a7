import Foundation
import SessionToolsBase
import Testing

@Suite struct `any session container` {
  let ada = User(id: "ada")

  @Test func `it calls the newer functions of a container that has them`() async throws {
    let locked = AnySessionContainer(
      try StoreContainer<User>(RefusingStore(StoreError.locked), service: "mail"))
    for container in [locked, AnySessionContainer(locked)] {
      #expect(!container.hasItem(forIdentifier: "user"))
      expectFailure(StoreError.locked) { try container.containsItem(forIdentifier: "user") }
      expectFailure(StoreError.locked) { try container.loadItem(forIdentifier: "user") }
      expectFailure(StoreError.locked) { try container.item(forIdentifier: "user") }
      await expectFailure(StoreError.locked) {
        try await container.asyncContainsItem(forIdentifier: "user")
      }
      await expectFailure(StoreError.locked) {
        try await container.asyncLoadItem(forIdentifier: "user")
      }
      await expectFailure(StoreError.locked) {
        try await container.asyncStoreItem(User(id: "ada"), forIdentifier: "user")
      }
      await expectFailure(StoreError.locked) {
        try await container.asyncRemoveItem(forIdentifier: "user")
      }
    }
  }

  @Test func `it reports what others change in its store`() async throws {
    let store = MemoryStore()
    let container = AnySessionContainer(try StoreContainer<User>(store, service: "mail"))
    var changes = container.itemChanges(forIdentifier: "user").makeAsyncIterator()
    try await store.put(SecretBytes(utf8: "x"), for: ItemName("user", in: "mail"))
    #expect(await changes.next() != nil)
  }

  @Test func `an old container gets all newer functions`() async throws {
    let container = AnySessionContainer(OldContainer<User>())
    #expect(try container.loadItem(forIdentifier: "user") == nil)
    try await container.asyncStoreItem(ada, forIdentifier: "user")
    #expect(container.hasItem(forIdentifier: "user"))
    #expect(try container.containsItem(forIdentifier: "user"))
    #expect(try await container.asyncContainsItem(forIdentifier: "user"))
    #expect(try container.item(forIdentifier: "user") == ada)
    #expect(try await container.asyncLoadItem(forIdentifier: "user") == ada)
    try await container.asyncRemoveItem(forIdentifier: "user")
    #expect(try await container.asyncLoadItem(forIdentifier: "user") == nil)
  }

  @Test func `an old container's nil is an error while it reports that there is an item`()
    async throws
  {
    let old = OldContainer<User>()
    old.entries["user"] = Data("damaged".utf8)
    let container = AnySessionContainer(old)
    #expect(try container.item(forIdentifier: "user") == nil, "the old method is unchanged")
    expectFailure(StoreError.undecodable) { try container.loadItem(forIdentifier: "user") }
    await expectFailure(StoreError.undecodable) {
      try await container.asyncLoadItem(forIdentifier: "user")
    }
  }

  @Test func `an old container reports what is changed through it`() async throws {
    let container = AnySessionContainer(OldContainer<User>())
    let copy = AnySessionContainer(container)
    var changes = container.itemChanges(forIdentifier: "user").makeAsyncIterator()
    var others = container.itemChanges(forIdentifier: "other").makeAsyncIterator()
    try copy.storeItem(ada, forIdentifier: "user")
    #expect(await changes.next() != nil)
    try copy.removeItem(forIdentifier: "user")
    #expect(await changes.next() != nil)
    try copy.storeItem(ada, forIdentifier: "other")
    #expect(await others.next() != nil)
  }

  @Test func `the change streams of an old container end with it`() async throws {
    var container: AnySessionContainer<User>? = AnySessionContainer(OldContainer<User>())
    var changes = try #require(container?.itemChanges(forIdentifier: "user")).makeAsyncIterator()
    container = nil
    #expect(await changes.next() == nil)
  }

  @Test func `an old container that is not Sendable is used by many tasks and threads`()
    async throws
  {
    let container = AnySessionContainer(OldContainer<User>())
    async let fromThreads = onThreads(4) { number in
      for round in 0..<100 {
        let name = "user\((number + round) % 8)"
        try? container.storeItem(User(id: name), forIdentifier: name)
        _ = container.hasItem(forIdentifier: name)
        guard (try? container.item(forIdentifier: name))?.id == name else { return false }
      }
      return true
    }
    try await withThrowingTaskGroup { group in
      for number in 0..<4 {
        group.addTask {
          for round in 0..<100 {
            let name = "user\((number + round) % 8)"
            try await container.asyncStoreItem(User(id: name), forIdentifier: name)
            #expect(try await container.asyncLoadItem(forIdentifier: name)?.id == name)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(await fromThreads.allSatisfy(\.self))
  }

  @Test func `an old container may call back into its session`() throws {
    let old = OldContainer<User>()
    let session = Session(container: AnySessionContainer(old), storageIdentifier: "user")
    var seen: User?
    old.onStore = { seen = session.currentItem }
    try session.updateItem(ada)
    #expect(seen == ada)
    old.onStore = nil
  }

  @Test func `sessions of one container object share why no user is signed in`() async throws {
    let container = SmallContainer()
    let sessions = (0..<2).map { _ in
      Session(
        container: AnySessionContainer(container), storageIdentifier: "user",
        refresher: SessionRefresher { _ in .rejected(TestError()) })
    }
    try await sessions[0].save(User(id: "ada"))
    await expectFailure(SessionError.rejected) { try await sessions[0].validItem(.always) }
    guard case .signedOut(.rejected) = sessions[1].state else {
      Issue.record("\(sessions[1].state)")
      return
    }
  }
}

/// A container that implements as little as possible of the newer functions.
private final class SmallContainer: ObservableSessionContainer {
  let values = Shared<[String: User]>([:])
  let threads = Shared<Set<String>>([])

  func hasItem(forIdentifier identifier: String) -> Bool {
    values.current[identifier] != nil
  }

  func containsItem(forIdentifier identifier: String) throws -> Bool {
    note()
    return hasItem(forIdentifier: identifier)
  }

  func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> User? {
    note()
    return values.current[identifier]
  }

  func removeItem(forIdentifier identifier: String) throws {
    note()
    values.update { $0[identifier] = nil }
  }

  func storeItem(
    _ item: User, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) throws {
    note()
    values.update { $0[identifier] = item }
  }

  func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    AsyncStream { $0.finish() }
  }

  /// There is a current task only if the call came directly from one.
  private func note() {
    let isTask = unsafe withUnsafeCurrentTask { unsafe $0 != nil }
    threads.update { _ = $0.insert(isTask ? "pool" : "queue") }
  }
}

@Suite struct `an observable container with the defaults` {
  @Test func `its async functions run the blocking ones outside of the pool`() async throws {
    let small = SmallContainer()
    let container = AnySessionContainer(small)
    try await container.asyncStoreItem(User(id: "ada"), forIdentifier: "user")
    #expect(try await container.asyncLoadItem(forIdentifier: "user")?.id == "ada")
    #expect(try await container.asyncContainsItem(forIdentifier: "user"))
    try await container.asyncRemoveItem(forIdentifier: "user")
    #expect(try await container.asyncLoadItem(forIdentifier: "user") == nil)
    #expect(small.threads.current == ["queue"])
  }
}
