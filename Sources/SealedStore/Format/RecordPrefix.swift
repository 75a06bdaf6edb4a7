import SessionToolsBase

/// The first 48 bytes of a record, which stand bare in the journal.
///
/// `length 4 ‖ flags 1 ‖ zero 3 ‖ number 8 ‖ item tag 16 ‖ chain 16`, then the sealed part.
struct RecordPrefix: Equatable {
  /// The bytes that the chain value and the sealing bind: all before the chain value.
  static let boundByteCount = 32
  static let byteCount = 48
  static let flagsOffset = 4

  /// The length of the sealed part.
  var sealedByteCount: Int
  var flags: RecordFlags
  var number: UInt64
  var tag: ItemTag
  var chain: ChainValue

  /// Reads a prefix; `nil` when it is none that any writer makes: a reserved byte or bit is
  /// set, or the length is not that of a padded plaintext.
  init?(_ buffer: ByteBuffer, at offset: Int) {
    let word = buffer.load(UInt64.self, at: offset)
    let sealedByteCount = Int(UInt32(truncatingIfNeeded: word))
    guard word >> 40 == 0, RecordPlaintext.isPossibleSealedByteCount(sealedByteCount),
      let flags = RecordFlags(byte: UInt8(truncatingIfNeeded: word >> 32))
    else { return nil }
    self.sealedByteCount = sealedByteCount
    self.flags = flags
    number = buffer.load(UInt64.self, at: offset + 8)
    tag = ItemTag(bytes: Bytes16(buffer, at: offset + 16))
    chain = ChainValue(bytes: Bytes16(buffer, at: offset + 32))
  }

  /// Writes the bound part; the chain value follows when the record is sealed.
  static func store(
    sealedByteCount: Int, flags: RecordFlags, number: UInt64, tag: ItemTag,
    in buffer: ByteBuffer, at offset: Int
  ) {
    buffer.store(UInt64(sealedByteCount) | UInt64(flags.rawValue) << 32, at: offset)
    buffer.store(number, at: offset + 8)
    tag.bytes.store(in: buffer, at: offset + 16)
  }

  /// The length of the whole record.
  var recordByteCount: Int { Self.byteCount + sealedByteCount }
}

/// What a record says of its item and its change.
struct RecordFlags: OptionSet, Hashable, Sendable {
  let rawValue: UInt8

  /// The item is removed.
  static let removed = RecordFlags(rawValue: 1)
  /// The first record of a change.
  static let first = RecordFlags(rawValue: 2)
  /// The last record of a change.
  static let last = RecordFlags(rawValue: 4)

  init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  init?(byte: UInt8) {
    guard byte < 8 else { return nil }
    rawValue = byte
  }
}
