package import SessionToolsBase
import Synchronization

/// A store in memory whose exclusive access may end before its closure does, as a server's lease.
package final class LeasedStore: BlockingSecretStore, ForwardingStore, LeasingStore {
  package let executor = BlockingExecutor(maximumThreadCount: 1)
  package let base = MemoryStore()
  private let isAlwaysLost: Bool
  private let accessGiven: @Sendable () -> Void
  private let counts = Mutex((access: 0, reading: 0))
  private let (losses, lost) = AsyncStream.makeStream(of: Void.self)

  /// Makes an empty store.
  ///
  /// - Parameters:
  ///   - isAlwaysLost: Whether every exclusive access is lost when it is to be confirmed.
  ///   - accessGiven: Called when exclusive access has been given, before an item is read.
  package init(isAlwaysLost: Bool = false, accessGiven: @escaping @Sendable () -> Void = {}) {
    self.isAlwaysLost = isAlwaysLost
    self.accessGiven = accessGiven
  }

  /// How often exclusive access was given.
  package var accessCount: Int { counts.withLock { $0.access } }
  /// How often an item was read with it.
  package var readingCount: Int { counts.withLock { $0.reading } }

  /// Ends the wait for the exclusive access to be about to end.
  package func loseExclusion() { lost.yield() }

  package func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  package func contains(_ name: ItemName) -> Bool { base.value(for: name) != nil }
  package func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }
  package func apply(_ changes: [StoreChange]) { base.apply(changes) }

  package func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await base.withExclusiveAccess(to: name, timeout: timeout) {
      counts.withLock { $0.access += 1 }
      accessGiven()
      return try await body()
    }
  }

  package func withExclusiveAccess<Value>(
    to name: ItemName, timeout: Duration, reading item: ItemName,
    _ body: (Result<SecretBytes?, StoreError>) async throws -> Value
  ) async throws -> Value {
    try await withExclusiveAccess(to: name, timeout: timeout) {
      counts.withLock { $0.reading += 1 }
      return try await body(.success(base.value(for: item)))
    }
  }

  package func confirmExclusion() async throws(StoreError) {
    guard isAlwaysLost else { return }
    throw StoreError(.exclusionLost, store: "test", reason: "the process was stopped")
  }

  package func isLosingExclusion() async -> Bool {
    for await _ in losses { return true }
    return false
  }
}
