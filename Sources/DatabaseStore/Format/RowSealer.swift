package import SealedStore
package import SecretStores

/// A sealer of the rows of one change, which share a write identifier.
package struct RowSealer {
  private let keys: DatabaseKeys
  private let epochKeys: EpochKeys
  private let database: String
  private let nonces: NonceSupply

  package let write: WriteIdentifier

  /// Begins a change.
  ///
  /// - Parameters:
  ///   - count: The number of its rows.
  ///   - keys: The keys of the store.
  ///   - database: The store as a person would name it.
  ///   - random: The source of the write identifier and the nonces.
  ///   - write: The identifier of a change that is sealed again; otherwise it is a new one.
  package init(
    _ count: Int, keys: DatabaseKeys, of database: String, random: any RandomSource,
    write: WriteIdentifier? = nil
  ) {
    guard let epochKeys = keys.keys(of: keys.written) else {
      preconditionFailure("the written epoch has keys")
    }
    self.keys = keys
    self.epochKeys = epochKeys
    self.database = database
    self.write = write ?? WriteIdentifier(bytes: random.bytes16())
    nonces = NonceSupply(random: random)
    nonces.begin(count)
  }

  /// Seals the row of an item.
  ///
  /// - Parameters:
  ///   - value: The value; `nil` for a removal.
  ///   - itemName: The item's name.
  ///   - version: The item's new version.
  ///   - write: The identifier of the change that made the item as it is, if it is not this one.
  /// - Returns: The row, sealed with the written epoch.
  /// - Throws: `valueTooLarge` above 1 MiB.
  package func seal(
    _ value: SecretBytes?, for itemName: ItemName, version: Int64, write: WriteIdentifier? = nil
  ) throws(StoreError) -> SealedRow {
    let valueByteCount = value?.byteCount ?? 0
    try ChangeLimits.check(valueByteCount, for: itemName, database: database)
    let fields = RowFields(
      address: keys.address(of: itemName), version: version, epoch: keys.written,
      isGone: value == nil, write: write ?? self.write)
    let associatedData = fields.associatedData(for: keys.store)

    let name = Sodium.nonceByteCount
    let paddedName = Padding.paddedByteCount(forName: itemName.canonicalByteCount)
    let valueStart = name + paddedName + Sodium.tagByteCount
    let paddedValue = Padding.paddedByteCount(for: 4 + valueByteCount)
    let buffer = ByteBuffer(
      byteCount: valueStart + paddedValue + Sodium.tagByteCount, isSecret: true)
    nonces.next(into: buffer, at: 0)
    itemName.storeCanonical(in: buffer, at: name)
    buffer.store(UInt32(valueByteCount), at: valueStart)
    if let value { buffer.copy(value, to: valueStart + 4) }
    Sodium.seal(
      buffer, name..<valueStart, nonce: 0..<name, associatedData: associatedData,
      key: epochKeys.name)
    Sodium.seal(
      buffer, valueStart..<buffer.byteCount, nonce: 0..<name, associatedData: associatedData,
      key: epochKeys.value)
    return SealedRow(
      fields: fields, nonce: buffer.bytes(0..<name), name: buffer.bytes(name..<valueStart),
      value: buffer.bytes(valueStart..<buffer.byteCount))
  }
}
