import SessionToolsBase

/// The first 64 bytes of a journal.
///
/// `SSNTJRN1 ‖ format version 2 ‖ zero 6 ‖ store id 16 ‖ journal id 16 ‖ chain value 16`.
struct JournalHead: Equatable {
  static let byteCount = 64
  static let formatVersion: UInt16 = 1
  private static let magic = UInt64(littleEndianText: "SSNTJRN1")

  let store: StoreIdentifier
  let journal: JournalIdentifier
  let chain: ChainValue

  /// The version of the format.
  ///
  /// One that is not ours means something only when the chain key made the head.
  let version: UInt16

  /// Reads a head; `nil` when it is none that any writer makes.
  init?(_ buffer: ByteBuffer) {
    guard buffer.load(UInt64.self, at: 0) == Self.magic, buffer.isZero(10..<16) else {
      return nil
    }
    version = buffer.load(UInt16.self, at: 8)
    store = StoreIdentifier(bytes: Bytes16(buffer, at: 16))
    journal = JournalIdentifier(bytes: Bytes16(buffer, at: 32))
    chain = ChainValue(bytes: Bytes16(buffer, at: 48))
  }

  init(store: StoreIdentifier, journal: JournalIdentifier, chainKey: KeyBytes) {
    version = Self.formatVersion
    self.store = store
    self.journal = journal
    let buffer = Self.unchained(version: version, store: store, journal: journal)
    chain = ChainValue(bytes: Sodium.sipHash(buffer, 0..<48, key: chainKey))
  }

  /// Whether the chain key made this head.
  func isChained(by chainKey: KeyBytes) -> Bool {
    let buffer = Self.unchained(version: version, store: store, journal: journal)
    return chain.bytes == Sodium.sipHash(buffer, 0..<48, key: chainKey)
  }

  func encoded() -> ByteBuffer {
    let buffer = Self.unchained(version: version, store: store, journal: journal)
    chain.bytes.store(in: buffer, at: 48)
    return buffer
  }

  private static func unchained(
    version: UInt16, store: StoreIdentifier, journal: JournalIdentifier
  ) -> ByteBuffer {
    let buffer = ByteBuffer(byteCount: byteCount)
    buffer.store(magic, at: 0)
    buffer.store(version, at: 8)
    store.bytes.store(in: buffer, at: 16)
    journal.bytes.store(in: buffer, at: 32)
    return buffer
  }
}

extension UInt64 {
  /// Eight letters as the integer that is stored as those letters.
  init(littleEndianText text: StaticString) {
    precondition(text.utf8CodeUnitCount == 8, "eight letters")
    var value: UInt64 = 0
    for (position, byte) in "\(text)".utf8.enumerated() {
      value |= UInt64(byte) << (8 * UInt64(position))
    }
    self = value
  }
}
