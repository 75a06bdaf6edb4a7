import Foundation
import SessionToolsBase
import Synchronization

/// The state that several objects of one broken store share.
final class BrokenWorld: Sendable {
  static let largestValueByteCount = 128 << 10

  let memory = MemoryStore()
  /// The memory that `async` calls use in a store with two memories.
  let otherMemory = MemoryStore()
  let isLocked = Flag()
  let names = NameLocks<StoreKey>(store: "broken")
  let otherNames = NameLocks<StoreKey>(store: "broken")
  /// Every name that was ever put, and every one that was removed.
  let put = Shared<[StoreKey]>([])
  let removed = Shared<Set<StoreKey>>([])
  /// Listeners in addition to those of the memory.
  let listeners = Shared<[AsyncStream<StoreEvent>.Continuation]>([])
  /// Orders the handover of bytes for the thread sanitizer, which does not see Swift's mutex.
  let handing = NSLock()

  private let number = count.add(1, ordering: .relaxed).newValue
  private static let count = Atomic(0)

  var identity: String { "broken \(number)" }
}

/// An atomic Boolean value.
final class Flag: Sendable {
  private let value = Atomic(false)

  var isSet: Bool {
    get { value.load(ordering: .sequentiallyConsistent) }
    set { value.store(newValue, ordering: .sequentiallyConsistent) }
  }
}

extension MemoryStore {
  var items: [StoreKey: SecretBytes] {
    var items: [StoreKey: SecretBytes] = [:]
    for key in keys(in: nil) { items[key] = value(for: key) }
    return items
  }
}
