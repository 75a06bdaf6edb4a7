import SessionToolsBase

/// The record of an item in memory, sealed as it is in the file, of which the value can be opened.
///
/// Written before anyone else can see it, and only read after that: this makes the unchecked
/// conformance true.
struct SealedRecord: @unchecked Sendable {
  /// The journal's identifier and the record: with its prefix, which both sealings bind, behind it.
  private let buffer: ByteBuffer
  private static let start = 16

  /// Reads the record of an entry; `nil` when the file ends before it does.
  ///
  /// - Parameters:
  ///   - entry: Where the record is.
  ///   - journal: What it is bound to.
  ///   - file: The journal.
  ///   - isKept: Whether the value is to be opened more than once.
  /// - Throws: `io`.
  init?(
    of entry: ItemIndex.Entry, in journal: JournalIdentifier, _ file: OpenFile, isKept: Bool
  ) throws(StoreError) {
    self.init(byteCount: entry.recordByteCount, in: journal, isKept: isKept)
    let range = Self.start..<buffer.byteCount
    guard try file.read(at: Int(entry.offset), into: buffer, range) == range.count else {
      return nil
    }
  }

  /// Copies a record.
  init(copying record: ByteBuffer, in journal: JournalIdentifier) {
    self.init(byteCount: record.byteCount, in: journal, isKept: true)
    buffer.copy(record, 0..<record.byteCount, to: Self.start)
  }

  private init(byteCount: Int, in journal: JournalIdentifier, isKept: Bool) {
    // A record that is opened once is opened where it stands, which saves memory for the value.
    buffer = ByteBuffer(unwrittenByteCount: Self.start + byteCount, isSecret: !isKept)
    journal.bytes.store(in: buffer, at: 0)
  }

  /// The length of the record.
  var byteCount: Int { buffer.byteCount - Self.start }

  /// Opens the value; `nil` when the record is not authentic, or not the one of the entry.
  func value(of entry: ItemIndex.Entry, _ keys: KeyRing) -> SecretBytes? {
    guard let prefix = RecordPrefix(buffer, at: Self.start, maskKey: keys.maskKey),
      entry.isEntry(of: prefix)
    else { return nil }
    return value(prefix.lengths, keys)
  }

  /// Opens the value of a record that was the one of its entry before.
  func valueAgain(_ keys: KeyRing) -> SecretBytes? {
    RecordLengths(buffer, at: Self.start).flatMap { value($0, keys) }
  }

  private func value(_ lengths: RecordLengths, _ keys: KeyRing) -> SecretBytes? {
    let sealed = lengths.valueRange(at: Self.start)
    let byteCount = sealed.count - Sodium.tagByteCount
    guard !buffer.isSecret else {
      return open(sealed, keys, in: buffer, at: sealed.lowerBound..<sealed.lowerBound + byteCount)
    }
    return open(
      sealed, keys, in: ByteBuffer(byteCount: byteCount, isSecret: true), at: 0..<byteCount)
  }

  @inline(__always)
  private func open(
    _ sealed: Range<Int>, _ keys: KeyRing, in text: ByteBuffer, at range: Range<Int>
  ) -> SecretBytes? {
    guard
      Sodium.open(
        buffer, sealed, nonce: RecordPrefix.nonceRange(at: Self.start), associatedData: buffer,
        0..<RecordOpener.associatedDataByteCount, key: keys.valueKey,
        into: (text, range.lowerBound)),
      let value = RecordOpener.value(in: text, range, isRemoval: false)
    else { return nil }
    return SecretBytes(in: text, value)
  }
}

/// Records of a small store, as they were read, so that to read them again is one look at the mark.
///
/// A record that counts never changes: what was authentic once is so from memory, whatever became of
/// the file meanwhile.
struct KeptRecords {
  /// None are kept of a store with more items, where most would be gone before they are asked for.
  static let largestItemCount = 256
  private static let largestByteCount = 4 << 10

  /// By where they start in the journal.
  private var records: [UInt64: SealedRecord] = [:]

  subscript(offset: UInt64) -> SealedRecord? { records[offset] }

  /// Keeps a record unless it is a long one.
  mutating func keep(_ record: SealedRecord, at offset: UInt64) {
    guard record.byteCount <= Self.largestByteCount else { return }
    // Some are of items that have newer ones by now: begun anew, all that are in use come back.
    if records.count == Self.largestItemCount { records = [:] }
    records[offset] = record
  }
}
