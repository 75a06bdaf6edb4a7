import Foundation
import SecretStores
import Synchronization

/// The keys of an open store, in one guarded allocation.
///
/// Store key and data key are random and wrapped in the header; the others are derived.
final class KeyRing: Sendable {
  private let memory: GuardedMemory

  /// The key that wraps the data key, and is itself wrapped in every slot.
  let storeKey: KeyBytes
  /// The key from which all keys below except the header key are derived; a rotation replaces it.
  let dataKey: KeyBytes
  /// The key for the header's MAC, derived from the store key.
  let headerKey: KeyBytes
  /// The key for item tags.
  let tagKey: KeyBytes
  /// The key that seals values.
  let valueKey: KeyBytes
  /// The key that chains records and makes the mark's check.
  let chainKey: KeyBytes
  /// The key that seals names.
  let nameKey: KeyBytes
  /// The key that masks item tags and kinds of records.
  let maskKey: KeyBytes

  /// The size of all keys together.
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
    // SipHash uses the first half of each of these derived keys.
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

  /// Registers a use of the keys.
  ///
  /// Call it only under the lock of the state that holds the ring, so that no use begins after the
  /// ring was taken out of the state.
  func beginUse() {
    useCount.wrappingAdd(1, ordering: .acquiring)
  }

  /// Unregisters a use of the keys.
  func endUse() {
    useCount.wrappingSubtract(1, ordering: .releasing)
  }

  /// Wipes all keys once they are not in use, which takes as long as the reads and the one write
  /// that are under way.
  ///
  /// Call it only after the ring was taken out of the state.
  func wipe() {
    while useCount.load(ordering: .acquiring) > 0 {
      Thread.sleep(forTimeInterval: 0.000_05)
    }
    memory.wipe()
  }
}
