import Foundation
import SessionToolsBase
import Synchronization

/// The state that several objects of one broken store share.
final class BrokenWorld: Sendable {
  static let maximumValueByteCount = 128 << 10
  static let maximumChangeCount = 100

  let memory = MemoryStore()
  /// The memory that `async` calls use in a store with two memories.
  let otherMemory = MemoryStore()
  let isLocked = Flag()
  let names = NameLocks<ItemName>(store: "broken")
  let otherNames = NameLocks<ItemName>(store: "broken")
  /// Every name that was ever put, and every one that was removed.
  let put = Shared<[ItemName]>([])
  let removed = Shared<Set<ItemName>>([])
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
  var items: [ItemName: SecretBytes] {
    var items: [ItemName: SecretBytes] = [:]
    for name in names(in: nil) { items[name] = value(for: name) }
    return items
  }
}
