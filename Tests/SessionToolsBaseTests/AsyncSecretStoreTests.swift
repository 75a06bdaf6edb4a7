import Foundation
import SessionToolsBase
import Testing

/// A store whose work is done by an actor, as one that talks to a service does.
private final class ActorStore: AsyncSecretStore {
  actor Items {
    var values: [ItemName: SecretBytes] = [:]
    var isLocked = false

    func setLocked(_ isLocked: Bool) { self.isLocked = isLocked }

    func read<Result: Sendable>(
      _ body: @Sendable ([ItemName: SecretBytes]) -> Result
    ) throws(StoreError) -> Result {
      if isLocked { throw StoreError(.locked, store: "actor", reason: "it is locked") }
      return body(values)
    }

    func apply(_ changes: [StoreChange]) throws(StoreError) {
      _ = try read { $0.count }
      for change in changes {
        switch change {
        case .put(let value, for: let name): values[name] = value
        case .remove(let name): values[name] = nil
        }
      }
    }
  }

  let items = Items()
  private let coordinator = StoreCoordinator(store: "actor")

  var traits: StoreTraits {
    StoreTraits(
      isAtomic: true, isDurable: false, seesOtherProcesses: false, excludesOtherProcesses: false,
      maximumValueByteCount: 1024)
  }

  func protection() -> StoreProtection { StoreProtection("none") }

  func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await items.read { $0[name] }
  }

  func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await items.apply(changes)
  }

  func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await items.read { values in
      values.keys.filter { namespace == nil || $0.namespace == namespace }.sorted()
    }
  }

  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try coordinator.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await coordinator.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  func changes() -> AsyncStream<StoreEvent> { coordinator.changes() }
}

@Suite struct `a store that is async by nature` {
  private let store = ActorStore()

  /// Tasks should not make blocking calls, but a task that does must not wait forever.
  @Test func `blocking calls on every thread of the pool end`() async throws {
    let store = ActorStore()
    let name = try ItemName("item", in: "service")
    try await store.put(SecretBytes(utf8: "value"), for: name)
    let count = ProcessInfo.processInfo.activeProcessorCount * 8
    let found = await withTaskGroup { group in
      for _ in 0..<count { group.addTask { Self.found(in: store, name) } }
      return await group.reduce(0) { $0 + $1 }
    }
    #expect(found == count)
  }

  /// A function that is not async, because in one Swift would choose the async `value(for:)`.
  private static func found(in store: ActorStore, _ name: ItemName) -> Int {
    // An error counts as not found.
    (try? store.value(for: name)) == nil ? 0 : 1
  }

  @Test func `its blocking calls wait for the async ones`() async throws {
    let store = store
    let name = try ItemName("one", in: "service")
    try await blocking {
      #expect(try store.value(for: name) == nil)
      #expect(try !store.contains(name))
      try store.put(SecretBytes(utf8: "a"), for: name)
      #expect(try store.value(for: name) == SecretBytes(utf8: "a"))
      #expect(try store.contains(name))
      #expect(try store.names(in: nil) == [name])
      try store.remove(name)
      #expect(try store.names(in: "service") == [])
    }
  }

  @Test func `its errors are typed`() async throws {
    let store = store
    let name = try ItemName("one", in: "service")
    await store.items.setLocked(true)
    try await blocking {
      expectFailure(StoreError.locked) { try store.value(for: name) }
      expectFailure(StoreError.locked) { try store.contains(name) }
      expectFailure(StoreError.locked) { try store.remove(name) }
      expectFailure(StoreError.locked) { try store.names(in: nil) }
    }
  }

  @Test func `many threads wait at the same time`() async throws {
    let store = store
    let answers = await onThreads(32) { number in
      guard let name = try? ItemName("\(number)", in: "service") else { return false }
      try? store.put(SecretBytes(utf8: "\(number)"), for: name)
      return (try? store.value(for: name)) == SecretBytes(utf8: "\(number)")
    }
    #expect(answers.count == 32 && answers.allSatisfy(\.self))
  }

  @Test func `a session over it works with blocking and async calls`() async throws {
    let container = try StoreContainer<User>(store, service: "mail")
    let session = Session(container: container, storageIdentifier: "user")
    try await session.save(User(id: "ada"))
    #expect(try await session.item() == User(id: "ada"))
    let read = try await blocking { session.currentItem }
    #expect(read == User(id: "ada"))
  }
}
