import SessionToolsBase

/// What a writer seals with, kept from one change to the next, so that sealing allocates nothing.
final class SealingMemory {
  /// Journal id 16 ‖ bound prefix 32: what the sealing binds.
  fileprivate let associatedData = ByteBuffer(byteCount: 48)
  fileprivate let chainInput = RecordChain.input()
  fileprivate let nonces: NonceSupply

  /// - Parameter random: Where nonces come from.
  init(random: any RandomSource) {
    nonces = NonceSupply(random: random)
  }
}

/// Seals records into a buffer, one after another, each chained to the one before.
struct RecordSealer {
  private let keys: KeyRing
  private let memory: SealingMemory
  private var chain: RecordChain

  /// The end of what was sealed.
  var position: JournalPosition { chain.position }

  /// Begins a change.
  ///
  /// - Parameters:
  ///   - count: How many records it has, as far as known.
  ///   - journal: What the records are bound to.
  ///   - position: Where the first will be.
  ///   - keys: What seals and chains them.
  ///   - memory: Used by nobody else until the change is sealed.
  init(
    _ count: Int, journal: JournalIdentifier, position: JournalPosition, keys: KeyRing,
    memory: SealingMemory
  ) {
    self.keys = keys
    self.memory = memory
    chain = RecordChain(after: position, chainKey: keys.chainKey, input: memory.chainInput)
    memory.nonces.begin(count)
    journal.bytes.store(in: memory.associatedData, at: 0)
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
    memory.associatedData.copy(buffer, bound, to: 16)
    let sealed = offset + RecordPrefix.byteCount..<offset + RecordPrefix.byteCount + sealedByteCount
    memory.nonces.next(into: buffer, at: sealed.lowerBound)
    Sodium.seal(buffer, sealed, associatedData: memory.associatedData, key: keys.recordKey)

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
