package import SealedStore
package import SecretStores

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
    let row = try header.row(leastEpoch: .first, storeKey: storeKey)
    let keys = try DatabaseKeys(
      store: store, storeKey: storeKey, indexKey: indexKey, dataKeys: [(.first, dataKey)],
      written: .first, headerMAC: row.mac)
    return (row, keys)
  }

  /// Encodes the header for the table.
  package func row(leastEpoch: Epoch, keys: DatabaseKeys) -> HeaderRow {
    row(leastEpoch: leastEpoch, headerKey: keys.headerKey)
  }

  /// Encodes the header for the table, when it has another store key than the one in use.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  func row(leastEpoch: Epoch, storeKey: KeyBytes) throws(StoreError) -> HeaderRow {
    let headerKey = try KeyBytes()
    Sodium.derive(1, from: storeKey, into: headerKey)
    return row(leastEpoch: leastEpoch, headerKey: headerKey)
  }

  private func row(leastEpoch: Epoch, headerKey: KeyBytes) -> HeaderRow {
    HeaderRow(
      format: Int32(DatabaseFormat.version), number: number, leastEpoch: leastEpoch.number,
      bytes: encoded(headerKey: headerKey))
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
    return (try open(withStoreKey: storeKey, of: database), slot)
  }

  /// Opens the header with the store key itself.
  ///
  /// - Throws: As ``open(with:of:)``, except for `wrongKey`.
  func open(
    withStoreKey storeKey: KeyBytes, of database: String
  ) throws(StoreError) -> DatabaseKeys {
    guard let keys = try keys(with: storeKey) else { throw HeaderFailure.forged(database) }
    return keys
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
    return try open(withStoreKey: current.storeKey, of: database)
  }

  /// Returns the slots for changing them.
  package func slotList(of database: String) -> SlotList {
    SlotList(
      slots, wrapping: wrapping, store: database,
      command: { "session-tools slots \($0)" },
      forged: { HeaderFailure.forged(database) })
  }

  /// Adds the next epoch, which new rows are sealed with from now on.
  ///
  /// - Throws: `invalidKey` when there are 8 epochs already or no higher number is left, and
  ///   `unavailable` when the system gives no memory.
  package mutating func addEpoch(
    storeKey: KeyBytes, of database: String, random: any RandomSource
  ) throws(StoreError) {
    guard epochs.count < EpochRecord.maximumCount, let next = epochs.last?.epoch.next else {
      throw StoreError(
        .invalidKey, store: database,
        reason: "the header has \(epochs.count) data keys, and cannot have another one",
        remedy: "Finish the rotation that is under way, with session-tools rotate")
    }
    let dataKey = try KeyBytes()
    random.fill(dataKey)
    for position in epochs.indices { epochs[position].state = .read }
    epochs.append(
      EpochRecord(
        epoch: next, state: .written,
        wrapped: wrapping.seal(
          dataKey, with: storeKey, binding: EpochRecord.binding(of: next), random: random)))
  }

  /// Drops the data keys of older epochs, whose rows cannot be opened any more.
  mutating func dropEpochs(before first: Epoch) {
    epochs.removeAll { $0.epoch < first }
  }

  /// Wraps the index key and the data keys with another store key.
  ///
  /// - Throws: `corrupt` when they do not open with the present one, and `unavailable` when the
  ///   system gives no memory.
  mutating func replaceStoreKey(
    _ old: KeyBytes, by new: KeyBytes, of database: String, random: any RandomSource
  ) throws(StoreError) {
    wrappedIndexKey = try rewrap(
      wrappedIndexKey, Self.indexBinding, from: old, to: new, of: database, random)
    for (position, record) in epochs.enumerated() {
      let wrapped = try rewrap(
        record.wrapped, EpochRecord.binding(of: record.epoch), from: old, to: new, of: database,
        random)
      epochs[position] = EpochRecord(epoch: record.epoch, state: record.state, wrapped: wrapped)
    }
  }

  private func rewrap(
    _ wrapped: [UInt8], _ binding: [UInt8], from old: KeyBytes, to new: KeyBytes,
    of database: String, _ random: any RandomSource
  ) throws(StoreError) -> [UInt8] {
    guard let key = try wrapping.open(wrapped, with: old, binding: binding) else {
      throw HeaderFailure.forged(database)
    }
    return wrapping.seal(key, with: new, binding: binding, random: random)
  }

  private func search(of database: String) -> SlotSearch {
    SlotSearch(
      slots, wrapping: wrapping, store: database,
      remedy: "List its key slots with session-tools slots list",
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
      store: store, storeKey: storeKey, indexKey: indexKey, dataKeys: dataKeys, written: written,
      headerMAC: mac)
    return isAuthentic(headerKey: keys.headerKey) ? keys : nil
  }
}
