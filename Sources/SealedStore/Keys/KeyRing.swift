import Foundation
import SessionToolsBase
import Synchronization

/// The keys of an open store, in one guarded allocation.
///
/// Store key and data key are random and wrapped in the header; the others are derived.
final class KeyRing: Sendable {
  private let memory: GuardedMemory

  /// Wraps the data key; wrapped itself in every slot.
  let storeKey: KeyBytes
  /// What everything below is derived from; made anew by a rotation.
  let dataKey: KeyBytes
  /// Makes the header's MAC.
  let headerKey: KeyBytes
  /// Makes item tags.
  let tagKey: KeyBytes
  /// Seals values.
  let valueKey: KeyBytes
  /// Chains records, and makes the mark's check.
  let chainKey: KeyBytes
  /// Seals names.
  let nameKey: KeyBytes
  /// Masks item tags and kinds of records.
  let maskKey: KeyBytes

  /// The memory of all of them.
  static let byteCount = 8 * Sodium.keyByteCount

  /// Fills the ring from a store key and a data key.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  init(storeKey: KeyBytes, dataKey: KeyBytes) throws(StoreError) {
    memory = try GuardedMemory(byteCount: Self.byteCount)
    self.storeKey = memory[0]
    self.dataKey = memory[32]
    headerKey = memory[64]
    valueKey = memory[96]
    nameKey = memory[128]
    // SipHash takes the first half of what is derived.
    tagKey = memory[160, 16]
    chainKey = memory[192, 16]
    maskKey = memory[224, 16]
    storeKey.copy(to: self.storeKey)
    dataKey.copy(to: self.dataKey)
    Sodium.derive(1, from: self.storeKey, into: headerKey)
    Sodium.derive(2, from: self.dataKey, into: memory[160])
    Sodium.derive(3, from: self.dataKey, into: valueKey)
    Sodium.derive(4, from: self.dataKey, into: memory[192])
    Sodium.derive(5, from: self.dataKey, into: nameKey)
    Sodium.derive(6, from: self.dataKey, into: memory[224])
  }

  /// Whether the keys are really locked into memory.
  var isMemoryLocked: Bool { memory.isLocked }

  private let useCount = Atomic(0)

  /// Says that the keys are in use.
  ///
  /// Only under the lock of the state that holds the ring, so that nobody begins once it was
  /// taken out.
  func beginUse() {
    useCount.wrappingAdd(1, ordering: .acquiring)
  }

  /// Says that a use has ended.
  func endUse() {
    useCount.wrappingSubtract(1, ordering: .releasing)
  }

  /// Wipes all keys once nobody uses them, which takes as long as the reads and the one write
  /// that are under way.
  ///
  /// Only after the ring was taken out of the state.
  func wipe() {
    while useCount.load(ordering: .acquiring) > 0 {
      Thread.sleep(forTimeInterval: 0.000_05)
    }
    memory.wipe()
  }
}
