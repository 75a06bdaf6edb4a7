import SessionToolsBase

/// How far a journal was confirmed.
///
/// `journal id 16 ‖ length 8 ‖ number of the last record 8 ‖ its chain value 16 ‖ check 16`.
struct Mark: Hashable, Sendable {
  static let byteCount = 64
  /// Without the check.
  static let unsignedByteCount = 48

  let journal: JournalIdentifier
  let position: JournalPosition

  init(journal: JournalIdentifier, position: JournalPosition) {
    self.journal = journal
    self.position = position
  }

  /// Reads a mark; `nil` when the chain key did not make it.
  init?(_ buffer: ByteBuffer, chainKey: KeyBytes) {
    guard
      Bytes16(buffer, at: Self.unsignedByteCount)
        == Sodium.sipHash(buffer, 0..<Self.unsignedByteCount, key: chainKey)
    else {
      return nil
    }
    self.init(buffer, at: 0)
  }

  /// Reads what is in front of the check, which someone else vouches for.
  init(_ buffer: ByteBuffer, at offset: Int) {
    journal = JournalIdentifier(bytes: Bytes16(buffer, at: offset))
    position = JournalPosition(
      byteCount: Int(clamping: buffer.load(UInt64.self, at: offset + 16)),
      number: buffer.load(UInt64.self, at: offset + 24),
      chain: ChainValue(bytes: Bytes16(buffer, at: offset + 32)))
  }

  func encoded(chainKey: KeyBytes) -> ByteBuffer {
    let buffer = ByteBuffer(byteCount: Self.byteCount)
    store(in: buffer, at: 0)
    Sodium.sipHash(buffer, 0..<Self.unsignedByteCount, key: chainKey).store(
      in: buffer, at: Self.unsignedByteCount)
    return buffer
  }

  /// The identifier of the journal that takes the place of the marked one.
  ///
  /// Computed and not drawn: so a journal whose own mark was not written yet can be told from an
  /// older one that was put back, although both stand beside the mark of another journal.
  func successor(chainKey: KeyBytes) -> JournalIdentifier {
    let buffer = ByteBuffer(byteCount: 56)
    buffer.store(Self.successorLabel, at: 0)
    store(in: buffer, at: 8)
    return JournalIdentifier(bytes: Sodium.sipHash(buffer, 0..<56, key: chainKey))
  }

  private static let successorLabel = UInt64(littleEndianText: "SSNTNEXT")

  func store(in buffer: ByteBuffer, at offset: Int) {
    journal.bytes.store(in: buffer, at: offset)
    buffer.store(UInt64(position.byteCount), at: offset + 16)
    buffer.store(position.number, at: offset + 24)
    position.chain.bytes.store(in: buffer, at: offset + 32)
  }
}

/// A place between two records of a journal.
struct JournalPosition: Hashable, Sendable {
  /// The bytes of the journal before it.
  var byteCount: Int
  /// The number of the record before it; 0 at the start.
  var number: UInt64
  /// The chain value of the record before it, or of the head.
  var chain: ChainValue
}
