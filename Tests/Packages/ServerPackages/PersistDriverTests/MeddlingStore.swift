import SessionToolsBase
import SessionToolsTesting

/// A store where something happens after each value that is read.
final class MeddlingStore: AsyncSecretStore {
  private let store: MemoryStore
  private let meddle: @Sendable () async throws -> Void

  init(_ store: MemoryStore, _ meddle: @escaping @Sendable () async throws -> Void) {
    self.store = store
    self.meddle = meddle
  }

  var traits: StoreTraits { store.traits }

  func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    let value = try await store.value(for: name)
    do {
      try await meddle()
    } catch {
      throw StoreError(.io, store: "test", reason: "\(error)")
    }
    return value
  }

  func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await store.apply(changes)
  }

  func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await store.names(in: namespace)
  }

  func protection() throws(StoreError) -> StoreProtection { store.protection() }

  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try store.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    try await store.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  func changes() -> AsyncStream<StoreEvent> { store.changes() }
}
