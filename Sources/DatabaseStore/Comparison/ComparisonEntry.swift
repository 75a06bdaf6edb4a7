import SealedStore
import SecretStores

/// What a comparison remembers of a row: 40 bytes.
struct ComparisonEntry: Hashable {
  static let byteCount = 40

  let tag: RowTag
  let write: WriteIdentifier
  /// The version, with the flags in bits that no version reaches.
  private var state: UInt64

  private static let goneFlag: UInt64 = 1 << 63
  private static let missingFlag: UInt64 = 1 << 62

  init(_ fields: RowFields) {
    tag = fields.address.tag
    write = fields.write
    state = UInt64(fields.version) & ~Self.missingFlag | (fields.isGone ? Self.goneFlag : 0)
  }

  var version: Int64 { Int64(state & ~(Self.goneFlag | Self.missingFlag)) }
  /// Whether the item was removed.
  var isGone: Bool { state & Self.goneFlag != 0 }
  /// Whether the row was missing in a comparison that could not explain it.
  var isMissing: Bool {
    get { state & Self.missingFlag != 0 }
    set { state = newValue ? state | Self.missingFlag : state & ~Self.missingFlag }
  }

  init(_ buffer: ByteBuffer, at offset: Int) {
    tag = RowTag(bytes: Bytes16(buffer, at: offset))
    state = buffer.load(UInt64.self, at: offset + 16)
    write = WriteIdentifier(bytes: Bytes16(buffer, at: offset + 24))
  }

  /// Writes `tag 16 ‖ version and flags 8 ‖ write identifier 16`.
  func store(in buffer: ByteBuffer, at offset: Int) {
    tag.bytes.store(in: buffer, at: offset)
    buffer.store(state, at: offset + 16)
    write.bytes.store(in: buffer, at: offset + 24)
  }

  /// Orders by tag.
  static func precedes(_ left: ComparisonEntry, _ right: ComparisonEntry) -> Bool {
    let (left, right) = (left.tag.bytes, right.tag.bytes)
    return left.high == right.high ? left.low < right.low : left.high < right.high
  }
}
