package import SealedStore
package import SecretStores

/// The keys of an open store, in one guarded allocation.
///
/// The index key and the data keys are not kept: everything is done with keys derived from them.
package final class DatabaseKeys: Sendable {
  private let memory: GuardedMemory

  package let store: StoreIdentifier
  /// The epoch with which new rows are sealed.
  package let written: Epoch
  /// The MAC of the header that the keys are from, which no other header has.
  let headerMAC: [UInt8]
  /// The key that wraps the others, and is itself wrapped in every slot.
  package let storeKey: KeyBytes
  /// The key for the header's MAC, derived from the store key.
  let headerKey: KeyBytes
  let index: IndexKeys
  private let epochs: [Epoch: EpochKeys]
  /// The namespace of the last name: most programs use few, and each takes two hashes.
  let lastNamespace = Lock<HashedNamespace?>(nil)

  /// Fills the memory from the random keys.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  init(
    store: StoreIdentifier, storeKey: KeyBytes, indexKey: KeyBytes,
    dataKeys: [(epoch: Epoch, key: KeyBytes)], written: Epoch, headerMAC: [UInt8]
  ) throws(StoreError) {
    let size = Sodium.keyByteCount
    let count = 2 + IndexKeys.count + EpochKeys.count * dataKeys.count
    let memory = try GuardedMemory(byteCount: count * size)
    self.memory = memory
    self.store = store
    self.written = written
    self.headerMAC = headerMAC
    self.storeKey = memory[0]
    headerKey = memory[size]
    storeKey.copy(to: self.storeKey)
    Sodium.derive(1, from: storeKey, into: headerKey)
    index = IndexKeys(from: indexKey, in: memory, at: 2 * size)
    var epochs: [Epoch: EpochKeys] = [:]
    for (position, dataKey) in dataKeys.enumerated() {
      let offset = (2 + IndexKeys.count + EpochKeys.count * position) * size
      epochs[dataKey.epoch] = EpochKeys(from: dataKey.key, in: memory, at: offset)
    }
    self.epochs = epochs
  }

  /// Returns the keys of an epoch; `nil` when the header that was opened does not have it.
  func keys(of epoch: Epoch) -> EpochKeys? { epochs[epoch] }

  /// Returns the fingerprint of the store.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  package func fingerprint() throws(StoreError) -> StoreFingerprint {
    try StoreFingerprint(of: store, storeKey: storeKey)
  }

  /// Whether the keys are really locked into memory.
  package var isMemoryLocked: Bool { memory.isLocked }

  /// Wipes all keys.
  ///
  /// Call it only when nothing uses them: what is sealed or opened afterwards uses keys of zeros.
  package func wipe() { memory.wipe() }
}

/// The keys that turn names into addresses, derived from the index key.
struct IndexKeys: Sendable {
  static let count = 5

  let group: KeyBytes
  let namespace: KeyBytes
  let shard: KeyBytes
  let tag: KeyBytes
  let lease: KeyBytes

  fileprivate init(from key: KeyBytes, in memory: GuardedMemory, at offset: Int) {
    let keys = (0..<Self.count).map { position in
      let derived = memory[offset + position * Sodium.keyByteCount]
      Sodium.derive(UInt64(position) + 2, from: key, into: derived)
      return derived
    }
    (group, namespace, shard, tag, lease) = (keys[0], keys[1], keys[2], keys[3], keys[4])
  }
}

/// The keys that seal the rows of one epoch, derived from its data key.
struct EpochKeys: Sendable {
  static let count = 2

  let value: KeyBytes
  let name: KeyBytes

  fileprivate init(from key: KeyBytes, in memory: GuardedMemory, at offset: Int) {
    value = memory[offset]
    name = memory[offset + Sodium.keyByteCount]
    Sodium.derive(3, from: key, into: value)
    Sodium.derive(5, from: key, into: name)
  }
}
