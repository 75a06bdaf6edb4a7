import Dispatch
import SessionToolsBase
import Synchronization
import SessionToolsTestStores

/// Stands for a process that dies: after a number of changes to any of its stores, it does nothing
/// more.
final class Life: Sendable {
  private let left: Mutex<Int>
  private let count = Mutex(0)
  /// Called before every change, with the number of changes before.
  private let beforeChange: @Sendable (Int) -> Void

  /// - Parameters:
  ///   - changeCount: The number of changes before it ends.
  ///   - beforeChange: Called before every change, with the number of changes before.
  init(
    changeCount: Int = .max, beforeChange: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    left = Mutex(changeCount)
    self.beforeChange = beforeChange
  }

  /// The number of changes that were begun.
  var changeCount: Int { count.withLock { $0 } }

  /// Counts a change, and returns whether the process lives on.
  func step() -> Bool {
    beforeChange(
      count.withLock { count in
        count += 1
        return count - 1
      })
    return left.withLock { left in
      guard left > 0 else { return false }
      left -= 1
      return true
    }
  }
}

/// A store of a process that may die at any change, or within one if the store is not atomic.
struct StoppingStore: BlockingSecretStore, ForwardingStore, MigratableStore {
  let base: MemoryStore
  let life: Life
  let traits: StoreTraits
  private let atRest: AtRestProtection?
  var executor: BlockingExecutor { base.executor }

  init(
    _ store: MemoryStore, _ life: Life, isAtomic: Bool = true, atRest: AtRestProtection? = .keyFile,
    isReadOnly: Bool = false
  ) {
    self.base = store
    self.life = life
    traits = StoreTraits(
      isAtomic: isAtomic, isDurable: true, seesOtherProcesses: true, excludesOtherProcesses: true,
      maximumValueByteCount: 1000, isReadOnly: isReadOnly)
    self.atRest = atRest
  }

  func protection() -> StoreProtection { StoreProtection("a test", atRest: atRest) }

  func identity() -> String? { base.identity() }

  func value(for name: ItemName) throws(StoreError) -> SecretBytes? { base.value(for: name) }

  func apply(_ changes: [StoreChange]) throws(StoreError) {
    guard !changes.isEmpty else { return }
    if traits.isAtomic {
      guard life.step() else { throw Self.died }
      return base.apply(changes)
    }
    for change in changes {
      guard life.step() else { throw Self.died }
      base.apply([change])
    }
  }

  func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    base.names(in: namespace)
  }

  private static let died = StoreError(.io, store: "a test", reason: "the process died")
}
