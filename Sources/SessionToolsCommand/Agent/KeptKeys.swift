import SealedStore
import SessionToolsBase
import Synchronization

/// The keys that the agent keeps, each until its time is over.
///
/// Each is in guarded memory of its own, which is wiped when the key is removed here.
final class KeptKeys: Sendable {
  /// The number of stores whose keys are kept; more would use up the memory that may be locked.
  static let maximumCount = 64

  private struct Entry {
    let key: WrappingKey
    /// The end by the clock that continues while the machine sleeps.
    let end: Duration
  }

  private let entries = Mutex<[StoreIdentifier: Entry]>([:])
  private let clock = SystemSessionClock()

  var isEmpty: Bool { entries.withLock { $0.isEmpty } }

  /// When the first key's time is over.
  var firstEnd: Duration? { entries.withLock { $0.values.map(\.end).min() } }

  /// Returns the key of a store, if its time is not over.
  func key(of store: StoreIdentifier) -> WrappingKey? {
    removeEnded()
    return entries.withLock { $0[store]?.key }
  }

  /// Keeps a key in place of any other of the store.
  ///
  /// - Returns: Whether there was room for it.
  func keep(_ key: WrappingKey, of store: StoreIdentifier, for duration: Duration) -> Bool {
    let end = clock.uptime + duration
    return entries.withLock { entries in
      guard entries[store] != nil || entries.count < Self.maximumCount else { return false }
      entries[store] = Entry(key: key, end: end)
      return true
    }
  }

  func forget(_ store: StoreIdentifier) {
    entries.withLock { $0[store] = nil }
  }

  func forgetAll() {
    entries.withLock { $0.removeAll() }
  }

  /// Removes the keys whose time is over.
  func removeEnded() {
    let now = clock.uptime
    entries.withLock { entries in
      entries = entries.filter { $0.value.end > now }
    }
  }
}
