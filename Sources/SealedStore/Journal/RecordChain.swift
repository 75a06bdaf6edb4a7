import SessionToolsBase

/// Computes chain values: each binds a record to all before it.
struct RecordChain {
  private let chainKey: KeyBytes
  /// Previous chain value 16 ‖ bound prefix 32 ‖ tag of the sealed part 16.
  private let input: ByteBuffer
  /// The end of the records so far.
  private(set) var position: JournalPosition

  /// Memory for a chain to compute in.
  static func input() -> ByteBuffer { ByteBuffer(byteCount: 64) }

  init(
    after position: JournalPosition, chainKey: KeyBytes, input: ByteBuffer = RecordChain.input()
  ) {
    self.position = position
    self.chainKey = chainKey
    self.input = input
  }

  /// Takes the bound prefix of the next record.
  func begin(_ buffer: ByteBuffer, at offset: Int) {
    position.chain.bytes.store(in: input, at: 0)
    // Word by word, which is inlined; a copy would be a call for every record.
    for word in stride(from: 0, to: RecordPrefix.boundByteCount, by: 8) {
      input.store(buffer.load(UInt64.self, at: offset + word), at: 16 + word)
    }
  }

  /// The chain value of the record that was begun.
  ///
  /// - Parameters:
  ///   - buffer: Has the tag of its sealed part.
  ///   - tagOffset: Where that tag starts.
  /// - Returns: What a writer puts into the record's prefix.
  func value(_ buffer: ByteBuffer, tagOffset: Int) -> ChainValue {
    Bytes16(buffer, at: tagOffset).store(in: input, at: 48)
    return ChainValue(bytes: Sodium.sipHash(input, 0..<64, key: chainKey))
  }

  /// Goes on to the next record.
  mutating func advance(_ recordByteCount: Int, number: UInt64, chain: ChainValue) {
    position = JournalPosition(
      byteCount: position.byteCount + recordByteCount, number: number, chain: chain)
  }

  /// Goes on over a record that stands whole in a buffer, whatever chain value it bears.
  mutating func append(_ buffer: ByteBuffer, at offset: Int, _ prefix: RecordPrefix) {
    begin(buffer, at: offset)
    let chain = value(buffer, tagOffset: offset + prefix.recordByteCount - Sodium.tagByteCount)
    advance(prefix.recordByteCount, number: prefix.number, chain: chain)
  }
}
