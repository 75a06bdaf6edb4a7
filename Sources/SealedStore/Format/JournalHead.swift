import SecretStores

/// The first 88 bytes of a journal.
///
/// `SSNTJRN1 ‖ format version 2 ‖ zero 6 ‖ store id 16 ‖ journal id 16 ‖ version of the store 8 ‖
/// predecessor 16 ‖ chain value 16`.
struct JournalHead: Equatable {
  static let byteCount = 88
  static let formatVersion: UInt16 = 1
  static let identifierOffset = 32
  static let chainOffset = 72
  private static let magic = UInt64(littleEndianText: "SSNTJRN1")

  let store: StoreIdentifier
  let journal: JournalIdentifier
  /// The number of changes made to the store before the journal was begun.
  let version: UInt64
  /// The last mark of the journal that this one replaces; `nil` in a store's first journal.
  let predecessor: MarkDigest?
  let chain: ChainValue

  /// The format version and the six bytes behind it, which are zero in this version.
  private let versionField: UInt64

  /// Reads a head; `nil` when no writer makes such bytes.
  init?(_ buffer: ByteBuffer) {
    versionField = buffer.load(UInt64.self, at: 8)
    guard buffer.load(UInt64.self, at: 0) == Self.magic,
      UInt16(truncatingIfNeeded: versionField) != Self.formatVersion
        || versionField == UInt64(Self.formatVersion)
    else { return nil }
    store = StoreIdentifier(bytes: Bytes16(buffer, at: 16))
    journal = JournalIdentifier(bytes: Bytes16(buffer, at: Self.identifierOffset))
    version = buffer.load(UInt64.self, at: 48)
    let digest = Bytes16(buffer, at: 56)
    predecessor = digest == .zero ? nil : MarkDigest(bytes: digest)
    chain = ChainValue(bytes: Bytes16(buffer, at: Self.chainOffset))
  }

  init(
    store: StoreIdentifier, journal: JournalIdentifier, version: UInt64, predecessor: MarkDigest?,
    chainKey: KeyBytes
  ) {
    versionField = UInt64(Self.formatVersion)
    self.store = store
    self.journal = journal
    self.version = version
    self.predecessor = predecessor
    let buffer = ByteBuffer(byteCount: Self.byteCount)
    Self.write(versionField, store, journal, version, predecessor, to: buffer)
    chain = ChainValue(bytes: Sodium.sipHash(buffer, 0..<Self.chainOffset, key: chainKey))
  }

  /// The format version.
  ///
  /// Any other than this library's is meaningful only if the chain key made the head.
  var formatVersion: UInt16 { UInt16(truncatingIfNeeded: versionField) }

  /// Returns whether the chain key made this head.
  func isChained(by chainKey: KeyBytes) -> Bool {
    chain.bytes == Sodium.sipHash(encoded(), 0..<Self.chainOffset, key: chainKey)
  }

  func encoded() -> ByteBuffer {
    let buffer = ByteBuffer(byteCount: Self.byteCount)
    Self.write(versionField, store, journal, version, predecessor, to: buffer)
    chain.bytes.store(in: buffer, at: Self.chainOffset)
    return buffer
  }

  /// The position of the first record.
  ///
  /// The first change of a journal with a predecessor rewrites the items of the store and does not
  /// count for the version, so the version before it is lower by 1.
  var start: JournalPosition {
    JournalPosition(
      record: RecordPosition(byteCount: Self.byteCount, number: 0, chain: chain),
      version: predecessor == nil ? version : version &- 1)
  }

  private static func write(
    _ versionField: UInt64, _ store: StoreIdentifier, _ journal: JournalIdentifier,
    _ version: UInt64, _ predecessor: MarkDigest?, to buffer: ByteBuffer
  ) {
    buffer.store(magic, at: 0)
    buffer.store(versionField, at: 8)
    store.bytes.store(in: buffer, at: 16)
    journal.bytes.store(in: buffer, at: identifierOffset)
    buffer.store(version, at: 48)
    predecessor?.bytes.store(in: buffer, at: 56)
  }
}

/// The digest of the mark of the journal before this one: `HASH-16(no key, mark 64)`.
struct MarkDigest: Hashable, Sendable {
  let bytes: Bytes16

  init(bytes: Bytes16) {
    self.bytes = bytes
  }

  /// Computes the digest of the 64 bytes of a mark, whatever key made it.
  init(of mark: ByteBuffer) {
    bytes = Sodium.hash16(mark, 0..<Mark.byteCount, key: nil)
  }
}

extension UInt64 {
  /// Creates the integer that is stored as these eight letters.
  package init(littleEndianText text: StaticString) {
    precondition(text.utf8CodeUnitCount == 8, "eight letters")
    var value: UInt64 = 0
    for (position, byte) in "\(text)".utf8.enumerated() {
      value |= UInt64(byte) << (8 * UInt64(position))
    }
    self = value
  }
}
