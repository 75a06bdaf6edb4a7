import Foundation
import SessionToolsBase
import Synchronization

/// What several objects of one broken store share.
final class BrokenWorld: Sendable {
  static let largestValueByteCount = 128 << 10

  let memory = MemoryStore()
  /// What `async` calls change of a store that has two memories.
  let otherMemory = MemoryStore()
  let isLocked = Flag()
  let names = NameLocks<StoreKey>(store: "broken")
  let otherNames = NameLocks<StoreKey>(store: "broken")
  /// Every name that was ever put, and every one that was removed.
  let put = Shared<[StoreKey]>([])
  let removed = Shared<Set<StoreKey>>([])
  /// Listeners beside those of the memory.
  let listeners = Shared<[AsyncStream<StoreEvent>.Continuation]>([])
  /// Shows the thread sanitizer, which does not see Swift's mutex, who gave bytes to whom.
  let handing = NSLock()

  private let number = count.add(1, ordering: .relaxed).newValue
  private static let count = Atomic(0)

  var identity: String { "broken \(number)" }
}

/// Something that is so or not.
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
