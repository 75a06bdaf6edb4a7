package import SessionToolsBase
import Synchronization

/// A store in memory that looks at an item and makes changes in one step, as a server does.
///
/// Exclusive access can be lost, as by a process that was stopped for too long.
package final class OneStepStore: BlockingSecretStore, ConditionalStore, ForwardingStore {
  package let executor = BlockingExecutor(maximumThreadCount: 1)
  package let base = MemoryStore()
  private let state = Mutex(State())

  private struct State {
    var exclusiveNames: [ItemName] = []
    var conditionalCount = 0
    /// The numbers of the conditional changes at which exclusive access is lost.
    var losses: Set<Int> = []
  }

  /// Makes an empty store.
  ///
  /// - Parameter losses: The numbers of the conditional changes that are refused with
  ///   `exclusionLost`; the first one is 1.
  package init(losing losses: Set<Int> = []) {
    state.withLock { $0.losses = losses }
  }

  /// The names to which exclusive access was given, in order.
  package var exclusiveNames: [ItemName] { state.withLock { $0.exclusiveNames } }
  /// The number of conditional changes that were asked for.
  package var conditionalCount: Int { state.withLock { $0.conditionalCount } }

  package func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  package func contains(_ name: ItemName) -> Bool { base.value(for: name) != nil }
  package func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }

  package func apply(_ changes: [StoreChange]) {
    state.withLock { _ in base.apply(changes) }
  }

  package func asyncApply(
    _ changes: [StoreChange], if condition: ItemCondition
  ) async throws(StoreError) -> ChangeOutcome {
    try state.withLock { state -> Swift.Result<ChangeOutcome, StoreError> in
      state.conditionalCount += 1
      guard !state.losses.contains(state.conditionalCount) else {
        return .failure(
          StoreError(.exclusionLost, store: "test", reason: "the process was stopped"))
      }
      let outcome = condition.outcome(whenStored: base.value(for: condition.name))
      if outcome == .made { base.apply(changes) }
      return .success(outcome)
    }.get()
  }

  package func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    state.withLock { $0.exclusiveNames.append(name) }
    return try base.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  package func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    state.withLock { $0.exclusiveNames.append(name) }
    return try await base.withExclusiveAccess(to: name, timeout: timeout, body)
  }
}
