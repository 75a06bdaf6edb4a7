import SessionToolsBase

/// Computes chain values: each binds a record to all before it.
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

  /// Memory for a chain to compute in.
  static func input() -> ByteBuffer { ByteBuffer(byteCount: inputByteCount) }

  init(
    after position: RecordPosition, chainKey: KeyBytes, input: ByteBuffer = RecordChain.input()
  ) {
    self.position = position
    self.chainKey = chainKey
    self.input = input
  }

  /// Takes the prefix of the next record.
  func begin(_ buffer: ByteBuffer, at offset: Int) {
    position.chain.bytes.store(in: input, at: 0)
    input.copy(buffer, at: offset, byteCount: RecordPrefix.chainedByteCount, to: 16)
  }

  /// The chain value of the record that was begun.
  ///
  /// - Parameters:
  ///   - buffer: Has the tags of its sealed parts.
  ///   - nameTag: Where that of the name starts.
  ///   - valueTag: Where that of the value starts.
  /// - Returns: What a writer puts into the record's prefix.
  func value(_ buffer: ByteBuffer, nameTag: Int, valueTag: Int) -> ChainValue {
    Bytes16(buffer, at: nameTag).store(in: input, at: Self.nameTagOffset)
    Bytes16(buffer, at: valueTag).store(in: input, at: Self.valueTagOffset)
    return ChainValue(bytes: Sodium.sipHash(input, 0..<Self.inputByteCount, key: chainKey))
  }

  /// The chain value of a record that stands whole in a buffer.
  func value(_ buffer: ByteBuffer, at offset: Int, _ lengths: RecordLengths) -> ChainValue {
    begin(buffer, at: offset)
    return value(
      buffer, nameTag: lengths.nameRange(at: offset).upperBound - Sodium.tagByteCount,
      valueTag: offset + lengths.record - Sodium.tagByteCount)
  }

  /// Goes on to the next record.
  mutating func advance(_ recordByteCount: Int, number: UInt64, chain: ChainValue) {
    position = RecordPosition(
      byteCount: position.byteCount + recordByteCount, number: number, chain: chain)
  }

  /// Goes on over a record that stands whole in a buffer, whatever chain value it bears.
  mutating func append(_ buffer: ByteBuffer, at offset: Int, _ prefix: RecordPrefix) {
    let chain = value(buffer, at: offset, prefix.lengths)
    advance(prefix.recordByteCount, number: prefix.number, chain: chain)
  }
}
