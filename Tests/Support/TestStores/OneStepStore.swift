package import SessionToolsBase
import Synchronization

/// A store in memory that looks at an item and makes changes in one step, as a server does.
///
/// Conditional changes can go wrong, such as when a process was stopped for too long.
package final class OneStepStore: BlockingSecretStore, ConditionalStore, ForwardingStore {
  package let executor = BlockingExecutor(maximumThreadCount: 1)
  package let base = MemoryStore()
  private let state = Mutex(State())

  /// What goes wrong with a conditional change.
  package enum Fault: Hashable, Sendable {
    /// It is refused, because exclusive access was lost.
    case exclusionLost
    /// It is made or not, and does not say which.
    case outcomeUnknown(isMade: Bool)
  }

  private struct State {
    var exclusiveNames: [ItemName] = []
    var readCount = 0
    var conditionalCount = 0
    /// The fault of a conditional change, by its number.
    var faults: [Int: Fault] = [:]
  }

  /// Makes an empty store.
  ///
  /// - Parameters:
  ///   - fault: What goes wrong with some conditional changes.
  ///   - numbers: Their numbers; the first change is 1.
  package init(_ fault: Fault = .exclusionLost, at numbers: Set<Int> = []) {
    state.withLock { state in
      for number in numbers { state.faults[number] = fault }
    }
  }

  /// The names to which exclusive access was given, in order.
  package var exclusiveNames: [ItemName] { state.withLock { $0.exclusiveNames } }
  /// The number of values that were read, without those that were only compared.
  package var readCount: Int { state.withLock { $0.readCount } }
  /// The number of conditional changes that were asked for.
  package var conditionalCount: Int { state.withLock { $0.conditionalCount } }

  package func value(for name: ItemName) -> SecretBytes? {
    state.withLock { $0.readCount += 1 }
    return base.value(for: name)
  }
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
      let fault = state.faults[state.conditionalCount]
      if fault == .exclusionLost {
        return .failure(
          StoreError(.exclusionLost, store: "test", reason: "the process was stopped"))
      }
      let outcome = condition.outcome(whenStored: base.value(for: condition.name))
      if outcome == .made, fault != .outcomeUnknown(isMade: false) { base.apply(changes) }
      guard fault == nil else {
        return .failure(StoreError(.outcomeUnknown, store: "test", reason: "no answer came"))
      }
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
