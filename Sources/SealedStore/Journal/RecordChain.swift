import SecretStores

/// A chain of records, whose values each bind a record to all before it.
struct RecordChain {
  private static let inputByteCount =
    16 + RecordPrefix.chainedByteCount + 2 * Sodium.tagByteCount
  private static let nameTagOffset = 16 + RecordPrefix.chainedByteCount
  private static let valueTagOffset = nameTagOffset + Sodium.tagByteCount

  private let chainKey: KeyBytes
  /// Previous chain value 16 ‖ prefix up to its own chain value 56 ‖ tag of the sealed name 16 ‖
  /// tag of the sealed value 16.
  private let input: ByteBuffer
  /// The end of the records so far.
  private(set) var position: RecordPosition

  /// Allocates memory in which a chain computes its values.
  static func input() -> ByteBuffer { ByteBuffer(byteCount: inputByteCount) }

  init(
    after position: RecordPosition, chainKey: KeyBytes, input: ByteBuffer = RecordChain.input()
  ) {
    self.position = position
    self.chainKey = chainKey
    self.input = input
  }

  /// Begins the next record with its prefix.
  func begin(_ buffer: ByteBuffer, at offset: Int) {
    position.chain.bytes.store(in: input, at: 0)
    input.copy(buffer, at: offset, byteCount: RecordPrefix.chainedByteCount, to: 16)
  }

  /// Computes the chain value of the record that was begun.
  ///
  /// - Parameters:
  ///   - buffer: The buffer with the tags of the record's sealed parts.
  ///   - nameTag: The start of the name's tag.
  ///   - valueTag: The start of the value's tag.
  /// - Returns: The value that a writer puts into the record's prefix.
  func value(_ buffer: ByteBuffer, nameTag: Int, valueTag: Int) -> ChainValue {
    Bytes16(buffer, at: nameTag).store(in: input, at: Self.nameTagOffset)
    Bytes16(buffer, at: valueTag).store(in: input, at: Self.valueTagOffset)
    return ChainValue(bytes: Sodium.sipHash(input, 0..<Self.inputByteCount, key: chainKey))
  }

  /// Computes the chain value of a record that is whole in a buffer.
  func value(_ buffer: ByteBuffer, at offset: Int, _ lengths: RecordLengths) -> ChainValue {
    begin(buffer, at: offset)
    return value(
      buffer, nameTag: lengths.nameRange(at: offset).upperBound - Sodium.tagByteCount,
      valueTag: offset + lengths.record - Sodium.tagByteCount)
  }

  /// Advances over a record.
  mutating func advance(_ recordByteCount: Int, number: UInt64, chain: ChainValue) {
    position = RecordPosition(
      byteCount: position.byteCount + recordByteCount, number: number, chain: chain)
  }

  /// Advances over a record that is whole in a buffer, whatever chain value it contains.
  mutating func append(_ buffer: ByteBuffer, at offset: Int, _ prefix: RecordPrefix) {
    let chain = value(buffer, at: offset, prefix.lengths)
    advance(prefix.recordByteCount, number: prefix.number, chain: chain)
  }
}
