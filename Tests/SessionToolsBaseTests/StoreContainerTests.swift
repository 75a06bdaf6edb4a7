import Foundation
import SessionToolsBase
import SessionToolsTestStores
import SessionToolsTestSupport
import Testing

@Suite struct `a store container` {
  let store = MemoryStore()
  let container: StoreContainer<User>
  let ada = User(id: "ada")

  init() throws {
    container = try StoreContainer(store, service: "mail")
  }

  @Test func `it stores, reads and removes with blocking and async calls, without coders`()
    async throws
  {
    #expect(!container.hasItem(forIdentifier: "user"))
    try container.storeItem(ada, forIdentifier: "user")
    #expect(container.hasItem(forIdentifier: "user"))
    #expect(try container.item(forIdentifier: "user") == ada)
    #expect(try container.loadItem(forIdentifier: "user") == ada)
    #expect(try await container.asyncLoadItem(forIdentifier: "user") == ada)
    try container.removeItem(forIdentifier: "user")
    #expect(try container.item(forIdentifier: "user") == nil)
    try await container.asyncStoreItem(ada, forIdentifier: "user")
    #expect(try await container.asyncContainsItem(forIdentifier: "user"))
    #expect(try container.containsItem(forIdentifier: "user"))
    try await container.asyncRemoveItem(forIdentifier: "user")
    try await container.asyncRemoveItem(forIdentifier: "user")
    #expect(try await !container.asyncContainsItem(forIdentifier: "user"))
  }

  @Test func `service, group and install keep items apart`() throws {
    let install = InstallIdentifier(rawValue: "i")
    let containers = [
      container, try StoreContainer(store, service: "mai"),
      try StoreContainer(store, service: "mail", accessGroup: "i"),
      try StoreContainer(store, service: "mail", install: install),
      try StoreContainer(store, service: "mail", accessGroup: "i", install: install),
    ]
    for (number, container) in containers.enumerated() {
      try container.storeItem(User(id: "\(number)"), forIdentifier: "user")
    }
    for (number, container) in containers.enumerated() {
      #expect(try container.item(forIdentifier: "user")?.id == "\(number)")
    }
    #expect(store.names(in: nil).count == containers.count)
  }

  @Test(arguments: [
    StoreError.locked, StoreError.unavailable, StoreError.corrupt, StoreError.accessDenied,
    StoreError.wrongKey, StoreError.keyMissing,
  ])
  func `a store that cannot answer is an error, and only hasItem returns false`(
    code: StoreError.Code
  ) async throws {
    let container = try StoreContainer<User>(RefusingStore(code), service: "mail")
    #expect(!container.hasItem(forIdentifier: "user"))
    expectFailure(code) { try container.containsItem(forIdentifier: "user") }
    expectFailure(code) { try container.item(forIdentifier: "user") }
    expectFailure(code) { try container.storeItem(User(id: "ada"), forIdentifier: "user") }
    expectFailure(code) { try container.removeItem(forIdentifier: "user") }
    await expectFailure(code) { try await container.asyncContainsItem(forIdentifier: "user") }
    await expectFailure(code) { try await container.asyncLoadItem(forIdentifier: "user") }
    await expectFailure(code) {
      try await container.asyncStoreItem(User(id: "ada"), forIdentifier: "user")
    }
    await expectFailure(code) { try await container.asyncRemoveItem(forIdentifier: "user") }
  }

  @Test func `an item that cannot be decoded is an error and stays where it is`() throws {
    let name = try ItemName("user", in: "mail")
    try store.put(SecretBytes(utf8: "{}"), for: name)
    expectFailure(StoreError.undecodable) { try container.item(forIdentifier: "user") }
    #expect(try container.containsItem(forIdentifier: "user"))
    #expect(store.value(for: name) == SecretBytes(utf8: "{}"))
  }

  @Test func `an item that cannot be encoded changes nothing`() throws {
    let container = try StoreContainer<Double>(store, service: "mail")
    try container.storeItem(1, forIdentifier: "ratio")
    expectFailure(StoreError.unencodable) {
      try container.storeItem(.nan, forIdentifier: "ratio")
    }
    #expect(try container.item(forIdentifier: "ratio") == 1)
  }

  @Test func `an empty identifier is an error, and its change stream ends`() async throws {
    expectFailure(StoreError.invalidName) { try container.item(forIdentifier: "") }
    expectFailure(StoreError.invalidName) { try container.storeItem(ada, forIdentifier: "") }
    #expect(!container.hasItem(forIdentifier: ""))
    for await _ in container.itemChanges(forIdentifier: "") { Issue.record("no item changes") }
    expectFailure(StoreError.invalidName) { try StoreContainer<User>(store, service: "") }
  }

  @Test func `its change stream reports each change of one item`() async throws {
    var changes = container.itemChanges(forIdentifier: "user").makeAsyncIterator()
    try container.storeItem(ada, forIdentifier: "other")
    try await store.put(SecretBytes(utf8: "x"), for: ItemName("user", in: "mail"))
    #expect(await changes.next() != nil)
    #expect(try await store.value(for: ItemName("user", in: "mail")) == SecretBytes(utf8: "x"))
  }

  @Test func `dropping its change stream ends the stream of the store`() async throws {
    let store = ListenedStore()
    let container = try StoreContainer<User>(store, service: "mail")
    var changes: AsyncStream<Void>? = container.itemChanges(forIdentifier: "user")
    #expect(!store.observers.isEmpty)
    _ = changes
    changes = nil
    try await wait(until: "nothing listens") { store.observers.isEmpty }
  }
}

/// A store whose listeners can be counted.
private struct ListenedStore: BlockingSecretStore, ForwardingStore {
  let observers = Observers()
  let base = MemoryStore()
  var executor: BlockingExecutor { base.executor }

  func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  func apply(_ changes: [StoreChange]) { base.apply(changes) }
  func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }

  func changes() -> AsyncStream<StoreEvent> { observers.stream() }
}
