import SessionToolsBase

/// The first 72 bytes of a record.
///
/// `length of the name 4 ‖ length of the value 4 ‖ number 8 ‖ masked kind and tag 16 ‖ nonce 24 ‖
/// chain value 16`, then the sealed name and the sealed value.
struct RecordPrefix: Equatable {
  /// The number of bytes that both sealings bind: all before the nonce.
  static let boundByteCount = 32
  /// The number of bytes that the chain value binds: all before it.
  static let chainedByteCount = 56
  static let byteCount = 72
  private static let nonceOffset = 32
  private static let maskedOffset = 16

  let lengths: RecordLengths
  let number: UInt64
  /// The first four bytes of the nonce.
  let nonceStart: UInt32
  let chain: ChainValue
  /// Whether the record is a removal, and its place in its change; meaningless while masked.
  private(set) var kind: RecordKind = []
  /// The tag of the item; meaningless while masked.
  private(set) var tag: ItemTag

  /// Reads a prefix without unmasking it; `nil` when no record has these lengths.
  init?(masked buffer: borrowing ByteBuffer, at offset: Int) {
    guard let lengths = RecordLengths(buffer, at: offset) else { return nil }
    self.lengths = lengths
    number = buffer.load(UInt64.self, at: offset + 8)
    nonceStart = Self.nonceStart(buffer, at: offset)
    tag = ItemTag(kindAndHash: Bytes16(buffer, at: offset + Self.maskedOffset))
    chain = ChainValue(bytes: Bytes16(buffer, at: offset + Self.chainedByteCount))
  }

  /// Reads a prefix; `nil` when no writer makes such bytes.
  init?(_ buffer: borrowing ByteBuffer, at offset: Int, maskKey: borrowing KeyBytes) {
    self.init(masked: buffer, at: offset)
    guard unmask(buffer, at: offset, maskKey: maskKey) else { return nil }
  }

  /// Unmasks kind and tag in the bytes that the prefix was read from; `false` when there is no such
  /// kind.
  mutating func unmask(_ buffer: ByteBuffer, at offset: Int, maskKey: KeyBytes) -> Bool {
    let mask = Sodium.sipHash(buffer, Self.nonceRange(at: offset), key: maskKey)
    let kindAndHash = Bytes16(buffer, at: offset + Self.maskedOffset) ^ mask
    guard let kind = RecordKind(byte: UInt8(truncatingIfNeeded: kindAndHash.low)) else {
      return false
    }
    self.kind = kind
    tag = ItemTag(kindAndHash: kindAndHash)
    return true
  }

  /// Writes a prefix except the nonce, which is there already, and the chain value, which is
  /// written when the record is sealed.
  static func store(
    _ lengths: RecordLengths, number: UInt64, kind: RecordKind, tag: ItemTag, maskKey: KeyBytes,
    in buffer: ByteBuffer, at offset: Int
  ) {
    lengths.store(in: buffer, at: offset)
    buffer.store(number, at: offset + 8)
    let mask = Sodium.sipHash(buffer, nonceRange(at: offset), key: maskKey)
    let kindAndHash = Bytes16(
      low: tag.bytes.low | UInt64(kind.rawValue), high: tag.bytes.high)
    (kindAndHash ^ mask).store(in: buffer, at: offset + maskedOffset)
  }

  /// Returns the first four bytes of the nonce of a record.
  static func nonceStart(_ buffer: ByteBuffer, at offset: Int) -> UInt32 {
    buffer.load(UInt32.self, at: offset + nonceOffset)
  }

  /// Returns the range of the nonce of a record.
  static func nonceRange(at offset: Int) -> Range<Int> {
    offset + nonceOffset..<offset + chainedByteCount
  }

  /// The length of the whole record.
  var recordByteCount: Int { lengths.record }
}

/// Whether a record removes its item, and whether it is the first or the last of its change.
struct RecordKind: OptionSet, Hashable, Sendable {
  let rawValue: UInt8

  /// The item is removed.
  static let removed = RecordKind(rawValue: 1)
  /// The first record of a change.
  static let first = RecordKind(rawValue: 2)
  /// The last record of a change.
  static let last = RecordKind(rawValue: 4)

  init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  init?(byte: UInt8) {
    guard byte < 8 else { return nil }
    rawValue = byte
  }
}
