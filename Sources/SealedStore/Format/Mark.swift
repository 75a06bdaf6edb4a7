import SecretStores

/// The commit point of a store: how far its journal counts.
///
/// `journal id 16 ‖ length 8 ‖ version 8 ‖ chain value 16 ‖ check 16`.
struct Mark: Hashable, Sendable {
  static let byteCount = 64
  /// The length without the check.
  static let unsignedByteCount = 48

  let journal: JournalIdentifier
  /// The length of the journal.
  let byteCount: Int
  /// The number of changes made to the store.
  let version: UInt64
  /// The chain value of the last record before this length, or of the head.
  let chain: ChainValue

  init(journal: JournalIdentifier, position: JournalPosition) {
    self.journal = journal
    byteCount = position.byteCount
    version = position.version
    chain = position.chain
  }

  /// Reads a mark; `nil` when the chain key did not make it.
  init?(_ buffer: ByteBuffer, chainKey: KeyBytes) {
    let check = Bytes16(buffer, at: Self.unsignedByteCount)
    guard check == Sodium.sipHash(buffer, 0..<Self.unsignedByteCount, key: chainKey) else {
      return nil
    }
    self.init(buffer, at: 0)
  }

  /// Reads the fields before the check, for a caller that has verified them by other means.
  init(_ buffer: ByteBuffer, at offset: Int) {
    journal = JournalIdentifier(bytes: Bytes16(buffer, at: offset))
    byteCount = Int(clamping: buffer.load(UInt64.self, at: offset + 16))
    version = buffer.load(UInt64.self, at: offset + 24)
    chain = ChainValue(bytes: Bytes16(buffer, at: offset + 32))
  }

  /// Returns the version in the bytes of a mark, whatever key made it.
  static func version(of bytes: [UInt8]) -> UInt64 {
    bytes.count == byteCount ? ByteBuffer(bytes).load(UInt64.self, at: 24) : .max
  }

  func encoded(chainKey: KeyBytes) -> ByteBuffer {
    let buffer = ByteBuffer(byteCount: Self.byteCount)
    encode(into: buffer, chainKey: chainKey)
    return buffer
  }

  /// Writes the mark and its check at the start of a buffer.
  func encode(into buffer: ByteBuffer, chainKey: KeyBytes) {
    store(in: buffer, at: 0)
    Sodium.sipHash(buffer, 0..<Self.unsignedByteCount, key: chainKey).store(
      in: buffer, at: Self.unsignedByteCount)
  }

  func store(in buffer: ByteBuffer, at offset: Int) {
    journal.bytes.store(in: buffer, at: offset)
    buffer.store(UInt64(byteCount), at: offset + 16)
    buffer.store(version, at: offset + 24)
    chain.bytes.store(in: buffer, at: offset + 32)
  }

  /// Returns whether a journal's position is exactly that of the mark.
  func isMet(by position: JournalPosition) -> Bool {
    position.byteCount == byteCount && position.version == version && position.chain == chain
  }
}
