import Synchronization

/// A store in this process's memory, for tests, previews and sessions that end with it.
///
/// Values are wiped when they are replaced or removed, or when the store is released.
public final class MemoryStore: BlockingConditionalStore, MigratableStore {
  /// The threads on which the `async` operations run.
  public let executor = BlockingExecutor(maximumThreadCount: 1)
  private let items = Mutex<[ItemName: SecretBytes]>([:])
  private let coordinator = StoreCoordinator(store: "memory")

  private let number = count.add(1, ordering: .relaxed).newValue
  private static let count = Atomic(0)

  /// Makes an empty store.
  public init() {}

  /// Atomic, visible only to this process, and lost when it ends.
  public var traits: StoreTraits {
    StoreTraits(
      isAtomic: true, isDurable: false, seesOtherProcesses: false, excludesOtherProcesses: false,
      maximumValueByteCount: Int.max)
  }

  /// Returns that nothing is on a disk.
  public func protection() -> StoreProtection {
    StoreProtection("memory of this process, nothing on disk")
  }

  /// Returns the identity of this object alone.
  public func identity() -> String? { "memory \(number)" }

  /// Reads one value; `nil` when there is no such item.
  public func value(for name: ItemName) -> SecretBytes? {
    items.withLock { $0[name] }
  }

  /// Makes all changes at once.
  public func apply(_ changes: [StoreChange]) {
    items.withLock { make(changes, in: &$0) }
  }

  package func apply(_ changes: [StoreChange], if condition: ItemCondition) -> ChangeOutcome {
    items.withLock { items in
      let outcome = condition.outcome(whenStored: items[condition.name])
      if outcome == .made { make(changes, in: &items) }
      return outcome
    }
  }

  private func make(_ changes: [StoreChange], in items: inout [ItemName: SecretBytes]) {
    guard !changes.isEmpty else { return }
    for change in changes {
      switch change {
      case .put(let value, for: let name): items[name] = value
      case .remove(let name): items[name] = nil
      }
    }
    // Under the lock, so that events come in the order of the changes.
    coordinator.report(.changed(Set(changes.map(\.name))))
  }

  /// Returns the names of one namespace, or of all, in ascending order.
  public func names(in namespace: StoreNamespace?) -> [ItemName] {
    items.withLock { items in
      items.keys.filter { namespace == nil || $0.namespace == namespace }.sorted()
    }
  }

  /// Runs a closure while no other task or thread has exclusive access to the name.
  ///
  /// - Throws: `timedOut`, or what the closure throws.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try coordinator.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  /// Runs a closure while no other task or thread has exclusive access to the name.
  ///
  /// - Throws: `timedOut`, `cancelled`, or what the closure throws.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await coordinator.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  /// Returns a stream of the names that this process changes from now on.
  public func changes() -> AsyncStream<StoreEvent> {
    coordinator.changes()
  }

  /// Returns a stream of the changes of some names by this process from now on.
  public func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent> {
    coordinator.changes(of: names)
  }
}
