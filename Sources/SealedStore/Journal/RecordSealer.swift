import SessionToolsBase

/// Seals records into a buffer, one after another, each chained to the one before.
struct RecordSealer {
  private let keys: KeyRing
  private let nonces: NonceSupply
  /// Journal id 16 ‖ bound prefix 32: what the sealing binds.
  private let associatedData = ByteBuffer(byteCount: 48)
  private var chain: RecordChain

  /// The end of what was sealed.
  var position: JournalPosition { chain.position }

  init(
    journal: JournalIdentifier, position: JournalPosition, keys: KeyRing, nonces: NonceSupply
  ) {
    self.keys = keys
    self.nonces = nonces
    chain = RecordChain(after: position, chainKey: keys.chainKey)
    journal.bytes.store(in: associatedData, at: 0)
  }

  /// Seals a record whose plaintext stands at its place in the buffer, zeros behind it.
  ///
  /// - Parameters:
  ///   - buffer: Has `prefix 48 ‖ nonce 24 ‖ plaintext ‖ tag 16` from `offset` on; all but the
  ///     plaintext is written here.
  ///   - offset: Where the record starts.
  ///   - sealedByteCount: The length of nonce, plaintext and tag.
  ///   - flags: What the record says.
  ///   - tag: The item.
  /// - Returns: Where the record will be.
  mutating func seal(
    _ buffer: ByteBuffer, at offset: Int, sealedByteCount: Int, flags: RecordFlags, tag: ItemTag
  ) -> ItemIndex.Entry {
    let number = position.number + 1
    RecordPrefix.store(
      sealedByteCount: sealedByteCount, flags: flags, number: number, tag: tag, in: buffer,
      at: offset)
    let bound = offset..<offset + RecordPrefix.boundByteCount
    associatedData.copy(buffer, bound, to: 16)
    let sealed = offset + RecordPrefix.byteCount..<offset + RecordPrefix.byteCount + sealedByteCount
    nonces.next(into: buffer, at: sealed.lowerBound)
    Sodium.seal(buffer, sealed, associatedData: associatedData, key: keys.recordKey)

    chain.begin(buffer, at: offset)
    let value = chain.value(buffer, tagOffset: sealed.upperBound - Sodium.tagByteCount)
    value.bytes.store(in: buffer, at: offset + RecordPrefix.boundByteCount)
    let entry = ItemIndex.Entry(
      tag: tag, offset: UInt64(position.byteCount), sealedByteCount: UInt32(sealedByteCount),
      numberLow: UInt32(truncatingIfNeeded: number))
    chain.advance(entry.recordByteCount, number: number, chain: value)
    return entry
  }
}
