import SecretStores

/// The first 72 bytes of a record.
///
/// `length of the name 4 ‖ length of the value 4 ‖ number 8 ‖ masked kind and tag 16 ‖ nonce 24 ‖
/// chain value 16`, then the sealed name and the sealed value.
struct RecordPrefix: Equatable {
  /// The number of bytes that both sealings bind: all before the nonce.
  static let boundByteCount = 32
  /// The length of the associated data of both sealings: journal id 16 ‖ bound prefix 32.
  static let associatedDataByteCount = 16 + boundByteCount
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

  /// Returns when a record's item was put, as a writer wrote it; `nil` when it wrote no time.
  static func time(_ buffer: ByteBuffer, at offset: Int, maskKey: KeyBytes) -> RecordTime? {
    RecordTime(in: buffer, at: offset + nonceOffset, maskKey: maskKey)
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

/// The lengths of the two sealed parts of a record.
struct RecordLengths: Hashable, Sendable {
  /// The length of the sealed name.
  let name: Int
  /// The length of the sealed value.
  let value: Int

  // The compiler folds these computed properties; a stored constant would be read through a call.
  private static var maximumNameByteCount: Int {
    Sodium.tagByteCount + Padding.paddedByteCount(forName: 4 * (5 + Name.maximumByteCount))
  }
  private static var maximumValueByteCount: Int {
    Sodium.tagByteCount + Padding.paddedByteCount(for: 4 + SealedFileStore.maximumValueByteCount)
  }

  /// The length of the shortest record.
  static let minimumRecordByteCount =
    RecordPrefix.byteCount + 2 * (Padding.floor + Sodium.tagByteCount)

  /// Computes the lengths from those of the name and the value before padding and sealing.
  init(nameByteCount: Int, valueByteCount: Int) {
    name = Sodium.tagByteCount + Padding.paddedByteCount(forName: nameByteCount)
    value = Sodium.tagByteCount + Padding.paddedByteCount(for: 4 + valueByteCount)
  }

  /// Computes the lengths of a removal: those of the record that it removes, up to 4 KiB of value.
  init(nameByteCount: Int, removing removedByteCount: Int?) {
    let name = Sodium.tagByteCount + Padding.paddedByteCount(forName: nameByteCount)
    self.name = name
    let removed = removedByteCount.map { $0 - RecordPrefix.byteCount - name } ?? 0
    value = min(
      max(removed, Sodium.tagByteCount + Padding.floor),
      Sodium.tagByteCount + Padding.maximumRemoval)
  }

  /// Reads lengths; `nil` when no record has them.
  ///
  /// This bounds the cost of forged lengths.
  init?(_ buffer: borrowing ByteBuffer, at offset: Int) {
    let both = buffer.load(UInt64.self, at: offset)
    name = Int(both & UInt64(UInt32.max))
    value = Int(both >> 32)
    guard name <= Self.maximumNameByteCount, value <= Self.maximumValueByteCount,
      Padding.isPossibleName(name - Sodium.tagByteCount),
      Padding.isPossible(value - Sodium.tagByteCount)
    else { return nil }
  }

  func store(in buffer: ByteBuffer, at offset: Int) {
    buffer.store(UInt32(name), at: offset)
    buffer.store(UInt32(value), at: offset + 4)
  }

  /// The length of the whole record.
  var record: Int { RecordPrefix.byteCount + name + value }

  /// Returns the range of the sealed name in a record that starts at an offset.
  func nameRange(at offset: Int) -> Range<Int> {
    let start = offset + RecordPrefix.byteCount
    return start..<start + name
  }

  /// Returns the range of the sealed value in a record that starts at an offset.
  func valueRange(at offset: Int) -> Range<Int> {
    let start = offset + RecordPrefix.byteCount + name
    return start..<start + value
  }
}

/// The padding of values and names, so that their sizes reveal little.
package enum Padding {
  /// The padded length of the shortest value, its length field included, and of the shortest name.
  static let floor = 64
  /// The padded length of the longest value in a removal.
  static let maximumRemoval = 4096
  private static let nameStep = 64

  /// Returns the padded length of `byteCount` bytes: a value with its length field.
  ///
  /// Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication
  /// with PURBs", 2019): at most 12 % longer, and a length of n leaks O(log log n) bits.
  package static func paddedByteCount(for byteCount: Int) -> Int {
    let length = max(floor, byteCount)
    let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
    let kept = Int.bitWidth - 1 - exponent.leadingZeroBitCount + 1
    let mask = (1 << (exponent - kept)) - 1
    return (length + mask) & ~mask
  }

  /// Returns whether some value is padded to this length.
  package static func isPossible(_ byteCount: Int) -> Bool {
    byteCount >= floor && paddedByteCount(for: byteCount) == byteCount
  }

  /// Returns the padded length of a name of `byteCount` bytes.
  package static func paddedByteCount(forName byteCount: Int) -> Int {
    max(floor, (byteCount + nameStep - 1) / nameStep * nameStep)
  }

  /// Returns whether some name is padded to this length.
  package static func isPossibleName(_ byteCount: Int) -> Bool {
    byteCount >= floor && byteCount % nameStep == 0
  }

  /// Returns the range of the value in an open part; `nil` when no writer makes such a part.
  static func value(in buffer: ByteBuffer, _ text: Range<Int>, isRemoval: Bool) -> Range<Int>? {
    let byteCount = Int(buffer.load(UInt32.self, at: text.lowerBound))
    let start = text.lowerBound + 4
    // A removal is as long as the record that it removes, and has no value.
    guard byteCount <= text.count - 4,
      isRemoval ? byteCount == 0 : paddedByteCount(for: 4 + byteCount) == text.count,
      buffer.isZero(start + byteCount..<text.upperBound)
    else { return nil }
    return start..<start + byteCount
  }
}
