import SealedStore
import SecretStores
import Synchronization

/// The right to change items while having exclusive access to a name.
final class Lease: Sendable {
  let store: StoreIdentifier
  let address: LeaseAddress
  /// 16 random bytes, which no other access has.
  let holder: [UInt8]
  private let ended = Atomic(false)
  private let lastRead = Mutex<ReadItem?>(nil)
  /// Until when it certainly lasts.
  private let end = Mutex(ContinuousClock.now)

  /// The leases of the closures around the caller, in its task or its thread.
  @TaskLocal static var all: [Lease] = []

  init(store: StoreIdentifier, address: LeaseAddress, holder: [UInt8]) {
    self.store = store
    self.address = address
    self.holder = holder
  }

  /// Whether the closure is over: tasks that it started may still have the lease, and are not bound
  /// to it any more.
  var isEnded: Bool { ended.load(ordering: .acquiring) }

  /// Marks the closure as over, and forgets what was read in it.
  func finish() {
    ended.store(true, ordering: .releasing)
    lastRead.withLock { $0 = nil }
  }

  /// Notes an item that was read in the closure: one that is changed under the access has mostly
  /// been read just before.
  func note(_ item: ReadItem) {
    guard !isEnded else { return }
    lastRead.withLock { $0 = item }
  }

  /// Returns the item that was read last in the closure, if it is the one at an address.
  func lastRead(at address: RowAddress) -> ReadItem? {
    lastRead.withLock { $0.flatMap { $0.address == address ? $0 : nil } }
  }

  /// How long it certainly lasts yet, by a clock that does not stand still with the machine.
  var rest: Duration { end.withLock { $0 - .now } }

  /// Notes that the server was asked at a moment, and has given the lease for a time from then on,
  /// or from later on.
  func last(for duration: Duration, from start: ContinuousClock.Instant) {
    end.withLock { $0 = max($0, start + duration) }
  }

  /// The leases around the caller that are on names of a store, by whichever object.
  static func held(in store: SealedDatabaseStore) -> [Lease] {
    all.filter { $0.store == store.keys.store && !$0.isEnded }
  }
}

/// An item as it was read: which version of its row had which bytes.
struct ReadItem: Sendable {
  let address: RowAddress
  let rowVersion: Int64
  let version: ItemVersion
}
