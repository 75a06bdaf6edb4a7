import SessionToolsBase

/// How far a journal was confirmed.
///
/// `journal id 16 ‖ length 8 ‖ number of the last record 8 ‖ its chain value 16 ‖ check 16`.
struct Mark: Equatable {
  static let byteCount = 64

  let journal: JournalIdentifier
  let position: JournalPosition

  init(journal: JournalIdentifier, position: JournalPosition) {
    self.journal = journal
    self.position = position
  }

  /// Reads a mark; `nil` when the chain key did not make it.
  init?(_ buffer: ByteBuffer, chainKey: KeyBytes) {
    guard Bytes16(buffer, at: 48) == Sodium.sipHash(buffer, 0..<48, key: chainKey) else {
      return nil
    }
    journal = JournalIdentifier(bytes: Bytes16(buffer, at: 0))
    position = JournalPosition(
      byteCount: Int(clamping: buffer.load(UInt64.self, at: 16)),
      number: buffer.load(UInt64.self, at: 24),
      chain: ChainValue(bytes: Bytes16(buffer, at: 32)))
  }

  func encoded(chainKey: KeyBytes) -> ByteBuffer {
    let buffer = ByteBuffer(byteCount: Self.byteCount)
    journal.bytes.store(in: buffer, at: 0)
    buffer.store(UInt64(position.byteCount), at: 16)
    buffer.store(position.number, at: 24)
    position.chain.bytes.store(in: buffer, at: 32)
    Sodium.sipHash(buffer, 0..<48, key: chainKey).store(in: buffer, at: 48)
    return buffer
  }
}

/// A place between two records of a journal.
struct JournalPosition: Equatable, Sendable {
  /// The bytes of the journal before it.
  var byteCount: Int
  /// The number of the record before it; 0 at the start.
  var number: UInt64
  /// The chain value of the record before it, or of the head.
  var chain: ChainValue
}
