import Glibc
import SessionToolsBase
import SessionToolsTestStores
import Testing

/// A store that notes for each blocking call whether it ran on the store's thread.
private final class WitnessStore: BlockingSecretStore, ForwardingStore {
  let executor = BlockingExecutor(maximumThreadCount: 1)
  let calls = Shared<[String]>([])
  let base = MemoryStore()

  private func note(_ call: String) {
    let place = isOnBlockingThread ? "on its thread" : "elsewhere"
    calls.update { $0.append("\(call) \(place)") }
  }

  func value(for name: ItemName) -> SecretBytes? {
    note("value")
    return base.value(for: name)
  }

  func contains(_ name: ItemName) -> Bool {
    note("contains")
    return base.value(for: name) != nil
  }

  func apply(_ changes: [StoreChange]) {
    note("apply")
    base.apply(changes)
  }

  func names(in namespace: StoreNamespace?) -> [ItemName] {
    note("names")
    return base.names(in: namespace)
  }
}

@Suite struct `a store that blocks by nature` {
  @Test func `its async calls run on its thread, even if its type is erased`() async throws {
    let store = WitnessStore()
    let erased: any SecretStore = store
    let name = try ItemName("one", in: "service")
    try await store.put(SecretBytes(utf8: "a"), for: name)
    _ = try await store.value(for: name)
    _ = try await erased.value(for: name)
    _ = try await erased.contains(name)
    _ = try await erased.names(in: nil)
    try await erased.apply([])
    #expect(
      store.calls.current == [
        "apply on its thread", "value on its thread", "value on its thread",
        "contains on its thread", "names on its thread", "apply on its thread",
      ])
  }

  @Test func `a session's async calls run on the store's thread`() async throws {
    let store = WitnessStore()
    let session = Session(
      container: try StoreContainer<User>(store, service: "mail"), storageIdentifier: "user")
    try await session.save(User(id: "ada"))
    _ = try await session.item()
    _ = try await session.containsItem()
    _ = await session.currentState()
    try await session.remove()
    #expect(
      store.calls.current.map { $0.prefix { $0 != " " } } == [
        "apply", "value", "contains", "value", "contains", "apply",
      ])
    #expect(store.calls.current.allSatisfy { $0.hasSuffix("on its thread") })
  }

  @Test func `an error of the blocking call is typed`() async throws {
    let store: any SecretStore = RefusingStore(StoreError.locked)
    let name = try ItemName("one", in: "service")
    await expectFailure(StoreError.locked) { try await store.value(for: name) }
    await expectFailure(StoreError.locked) { try await store.contains(name) }
    await expectFailure(StoreError.locked) { try await store.remove(name) }
    await expectFailure(StoreError.locked) { try await store.names(in: nil) }
  }
}
