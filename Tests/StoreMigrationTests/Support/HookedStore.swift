import Dispatch
import SessionToolsBase
import SessionToolsTestStores

/// A store in memory that a test watches, and makes fail.
struct HookedStore: BlockingSecretStore, ForwardingStore, MigratableStore {
  /// What happens before an operation; an error makes it fail.
  typealias Hook<Operation> = @Sendable (Operation) -> StoreError?

  let base: MemoryStore
  let traits: StoreTraits
  private let beforeRead: Hook<ItemName>
  private let beforeChange: Hook<[StoreChange]>
  /// Whether a change is reported as made, and is not.
  private let isIgnored: @Sendable (StoreChange) -> Bool
  var executor: BlockingExecutor { base.executor }

  init(
    _ base: MemoryStore, isAtomic: Bool = true,
    beforeRead: @escaping Hook<ItemName> = { _ in nil },
    beforeChange: @escaping Hook<[StoreChange]> = { _ in nil },
    isIgnored: @escaping @Sendable (StoreChange) -> Bool = { _ in false }
  ) {
    self.base = base
    self.beforeRead = beforeRead
    self.beforeChange = beforeChange
    self.isIgnored = isIgnored
    traits = StoreTraits(
      isAtomic: isAtomic, isDurable: true, seesOtherProcesses: true, excludesOtherProcesses: true,
      maximumValueByteCount: 1000)
  }

  func protection() -> StoreProtection { StoreProtection("a test", atRest: .keyFile) }

  func identity() -> String? { base.identity() }

  func value(for name: ItemName) throws(StoreError) -> SecretBytes? {
    if let error = beforeRead(name) { throw error }
    return base.value(for: name)
  }

  func apply(_ changes: [StoreChange]) throws(StoreError) {
    if let error = beforeChange(changes) { throw error }
    base.apply(changes.filter { !isIgnored($0) })
  }

  func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    base.names(in: namespace)
  }
}
