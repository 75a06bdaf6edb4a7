import SessionToolsBase

/// The memory in which a writer seals, kept between changes so that sealing allocates nothing.
final class SealingMemory {
  /// The associated data of both sealings: journal id 16 ‖ bound prefix 32.
  fileprivate let associatedData = RecordOpener.associatedData()
  fileprivate let chainInput = RecordChain.input()
  fileprivate let nonces: NonceSupply

  /// - Parameter random: The source of nonces.
  init(random: any RandomSource) {
    nonces = NonceSupply(random: random)
  }
}

/// A sealer of records, one after another in a buffer, each chained to the one before.
struct RecordSealer {
  private let keys: KeyRing
  private let memory: SealingMemory
  private var chain: RecordChain

  /// The end of the records that were sealed.
  var position: RecordPosition { chain.position }

  /// Begins a change.
  ///
  /// - Parameters:
  ///   - count: The number of its records; `.max` if it is not known.
  ///   - journal: The journal to which the records are bound.
  ///   - position: The position of the first record.
  ///   - keys: The keys that seal and chain the records.
  ///   - memory: Memory that is not used for anything else until the change is sealed.
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

  /// Seals a record whose name and value are in their places in the buffer, with zeros behind each.
  ///
  /// - Parameters:
  ///   - buffer: The buffer with `prefix 72 ‖ name ‖ tag 16 ‖ value ‖ tag 16` from `offset` on;
  ///     prefix and tags are written here.
  ///   - offset: The start of the record.
  ///   - lengths: The lengths of the sealed parts.
  ///   - kind: The kind of the record.
  ///   - tag: The tag of the item.
  /// - Returns: The entry of the record, with its place in the journal.
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
