package import SealedStore
package import SessionToolsBase

/// Making, opening and changing the keys in a header.
extension DatabaseHeader {
  private static let indexBinding = Array("index".utf8)

  private var wrapping: KeyWrapping { Self.wrapping(for: store) }

  private static func wrapping(for store: StoreIdentifier) -> KeyWrapping {
    KeyWrapping(magic: magic, formatVersion: DatabaseFormat.version, store: store)
  }

  /// Makes the header and the keys of a new store.
  ///
  /// - Parameters:
  ///   - slot: The first slot, from its key source.
  ///   - random: The source of identifier, keys and nonces.
  /// - Returns: The header's bytes with its number, 1, and the keys.
  /// - Throws: `invalidName` when the slot's label or reference is too long, and `unavailable` when
  ///   the system gives no memory.
  package static func make(
    for slot: (parameters: KeySlot.Parameters, key: WrappingKey), random: any RandomSource
  ) throws(StoreError) -> (row: HeaderRow, keys: DatabaseKeys) {
    let head = try SlotHead(slot.parameters)
    let store = StoreIdentifier(bytes: random.bytes16())
    let (storeKey, indexKey, dataKey) = (try KeyBytes(), try KeyBytes(), try KeyBytes())
    for key in [storeKey, indexKey, dataKey] { random.fill(key) }
    let wrapping = wrapping(for: store)
    let record = wrapping.wrap(storeKey, in: head, with: slot.key, random: random)
    let wrappedIndexKey = wrapping.seal(
      indexKey, with: storeKey, binding: indexBinding, random: random)
    let epoch = EpochRecord(
      epoch: .first, state: .written,
      wrapped: wrapping.seal(
        dataKey, with: storeKey, binding: EpochRecord.binding(of: .first), random: random))
    let header = DatabaseHeader(
      store: store, number: 1, slots: [record], wrappedIndexKey: wrappedIndexKey, epochs: [epoch])
    let keys = try DatabaseKeys(
      store: store, storeKey: storeKey, indexKey: indexKey, dataKeys: [(.first, dataKey)],
      written: .first)
    return (header.row(leastEpoch: .first, keys: keys), keys)
  }

  /// Encodes the header for the table.
  package func row(leastEpoch: Epoch, keys: DatabaseKeys) -> HeaderRow {
    HeaderRow(
      format: Int32(DatabaseFormat.version), number: number, leastEpoch: leastEpoch.number,
      bytes: encoded(headerKey: keys.headerKey))
  }

  /// Opens the header with a key source, one slot after the other.
  ///
  /// - Parameters:
  ///   - source: The source of the key for one of the slots.
  ///   - database: The store as a person would name it.
  /// - Returns: The keys, and the number of the slot that opened.
  /// - Throws: `wrongKey` when no slot opens, an error of the source, `corrupt` when someone
  ///   without the keys changed the header, or `unavailable` when the system gives no memory.
  package func open(
    with source: any KeySource, of database: String
  ) throws(StoreError) -> (keys: DatabaseKeys, slot: Int) {
    let (storeKey, slot) = try search(of: database).storeKey(from: source)
    guard let keys = try keys(with: storeKey) else { throw HeaderFailure.forged(database) }
    return (keys, slot)
  }

  /// Opens a newer header of the same store with the keys that are in use.
  ///
  /// - Throws: `wrongKey` when a revocation replaced the store key, or as ``open(with:of:)``.
  package func open(
    with current: DatabaseKeys, of database: String
  ) throws(StoreError) -> DatabaseKeys {
    guard store == current.store else { throw HeaderFailure.forged(database) }
    guard try unwrapIndexKey(with: current.storeKey) != nil else {
      throw search(of: database).wrongKey("the store's keys were replaced")
    }
    guard let keys = try keys(with: current.storeKey) else {
      throw HeaderFailure.forged(database)
    }
    return keys
  }

  /// Adds a slot, and counts the number up.
  ///
  /// - Throws: `invalidName` when the slot's label or reference is too long.
  /// - Precondition: There are fewer than 16 slots.
  package mutating func addSlot(
    _ slot: (parameters: KeySlot.Parameters, key: WrappingKey), keys: DatabaseKeys,
    random: any RandomSource
  ) throws(StoreError) {
    precondition(slots.count < KeySlot.largestCount, "room for a slot")
    let head = try SlotHead(slot.parameters)
    slots.append(wrapping.wrap(keys.storeKey, in: head, with: slot.key, random: random))
    number += 1
  }

  /// Adds the next epoch, which new rows are sealed with from now on, and counts the number up.
  ///
  /// - Throws: `invalidKey` when there are 8 epochs already or no higher number is left, and
  ///   `unavailable` when the system gives no memory.
  package mutating func addEpoch(
    keys: DatabaseKeys, of database: String, random: any RandomSource
  ) throws(StoreError) {
    guard epochs.count < EpochRecord.largestCount, let next = epochs.last?.epoch.next else {
      throw StoreError(
        .invalidKey, store: database,
        reason: "the header has \(epochs.count) data keys, and cannot have another one",
        remedy: "Finish the rotation that is under way")
    }
    let dataKey = try KeyBytes()
    random.fill(dataKey)
    for position in epochs.indices { epochs[position].state = .read }
    epochs.append(
      EpochRecord(
        epoch: next, state: .written,
        wrapped: wrapping.seal(
          dataKey, with: keys.storeKey, binding: EpochRecord.binding(of: next), random: random)))
    number += 1
  }

  private func search(of database: String) -> SlotSearch {
    SlotSearch(
      slots, wrapping: wrapping, store: database,
      remedy: "List its key slots with session-tools-database slots list",
      forged: { HeaderFailure.forged(database) })
  }

  private func unwrapIndexKey(with storeKey: KeyBytes) throws(StoreError) -> KeyBytes? {
    try wrapping.open(wrappedIndexKey, with: storeKey, binding: Self.indexBinding)
  }

  /// Unwraps all keys; `nil` when one of them does not open, or the MAC is not right.
  private func keys(with storeKey: KeyBytes) throws(StoreError) -> DatabaseKeys? {
    guard let indexKey = try unwrapIndexKey(with: storeKey) else { return nil }
    var dataKeys: [(Epoch, KeyBytes)] = []
    for record in epochs {
      let key = try wrapping.open(
        record.wrapped, with: storeKey, binding: EpochRecord.binding(of: record.epoch))
      guard let key else { return nil }
      dataKeys.append((record.epoch, key))
    }
    let keys = try DatabaseKeys(
      store: store, storeKey: storeKey, indexKey: indexKey, dataKeys: dataKeys, written: written)
    return isAuthentic(headerKey: keys.headerKey) ? keys : nil
  }
}
