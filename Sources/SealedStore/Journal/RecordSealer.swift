import SessionToolsBase

/// What a writer seals with, kept from one change to the next, so that sealing allocates nothing.
final class SealingMemory {
  /// Journal id 16 ‖ bound prefix 32: what both sealings bind.
  fileprivate let associatedData = RecordOpener.associatedData()
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
  var position: RecordPosition { chain.position }

  /// Begins a change.
  ///
  /// - Parameters:
  ///   - count: How many records it has, as far as known.
  ///   - journal: What the records are bound to.
  ///   - position: Where the first will be.
  ///   - keys: What seals and chains them.
  ///   - memory: Used by nothing else until the change is sealed.
  init(
    _ count: Int, journal: JournalIdentifier, position: RecordPosition, keys: KeyRing,
    memory: SealingMemory
  ) {
    self.keys = keys
    self.memory = memory
    chain = RecordChain(after: position, chainKey: keys.chainKey, input: memory.chainInput)
    memory.nonces.begin(count)
    journal.bytes.store(in: memory.associatedData, at: 0)
  }

  /// Seals a record whose name and value stand at their places in the buffer, zeros behind each.
  ///
  /// - Parameters:
  ///   - buffer: Has `prefix 72 ‖ name ‖ tag 16 ‖ value ‖ tag 16` from `offset` on; prefix and tags
  ///     are written here.
  ///   - offset: Where the record starts.
  ///   - lengths: Those of the sealed parts.
  ///   - kind: What the record says of its item and its change.
  ///   - tag: The item.
  /// - Returns: Where the record will be.
  mutating func seal(
    _ buffer: ByteBuffer, at offset: Int, _ lengths: RecordLengths, kind: RecordKind, tag: ItemTag
  ) -> ItemIndex.Entry {
    let number = position.number + 1
    let nonce = RecordPrefix.nonceRange(at: offset)
    memory.nonces.next(into: buffer, at: nonce.lowerBound)
    RecordPrefix.store(
      lengths, number: number, kind: kind, tag: tag, maskKey: keys.maskKey, in: buffer, at: offset)
    memory.associatedData.copy(
      buffer, offset..<offset + RecordPrefix.boundByteCount, to: 16)
    Sodium.seal(
      buffer, lengths.nameRange(at: offset), nonce: nonce,
      associatedData: memory.associatedData, key: keys.nameKey)
    Sodium.seal(
      buffer, lengths.valueRange(at: offset), nonce: nonce,
      associatedData: memory.associatedData, key: keys.valueKey)

    let value = chain.value(buffer, at: offset, lengths)
    value.bytes.store(in: buffer, at: offset + RecordPrefix.chainedByteCount)
    let entry = ItemIndex.Entry(
      tag: tag, offset: UInt64(position.byteCount), recordByteCount: lengths.record,
      nonceStart: RecordPrefix.nonceStart(buffer, at: offset))
    chain.advance(lengths.record, number: number, chain: value)
    return entry
  }
}
