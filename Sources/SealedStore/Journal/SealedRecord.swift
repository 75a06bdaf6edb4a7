import SecretStores

/// The record of an item in memory, sealed as it is in the file, whose value can be opened.
///
/// It is written before other threads can see it, and only read after that. This makes the
/// unchecked conformance correct.
struct SealedRecord: @unchecked Sendable {
  /// The journal's identifier and the record behind it: the associated data comes first.
  private let buffer: ByteBuffer
  private static let start = 16

  /// Reads the record of an entry; `nil` when the file ends before it does.
  ///
  /// - Parameters:
  ///   - entry: The entry of the record.
  ///   - journal: The journal to which it is bound.
  ///   - file: The journal's file.
  ///   - isKept: Whether the value may be opened more than once.
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
    // A record that is opened only once is opened in place, which saves memory for the value.
    buffer = ByteBuffer(unwrittenByteCount: Self.start + byteCount, isSecret: !isKept)
    journal.bytes.store(in: buffer, at: 0)
  }

  /// The length of the record.
  var byteCount: Int { buffer.byteCount - Self.start }

  /// Opens the value; `nil` when the record is not authentic, or is not that of the entry.
  func value(of entry: ItemIndex.Entry, _ keys: KeyRing) -> SecretBytes? {
    guard let prefix = RecordPrefix(buffer, at: Self.start, maskKey: keys.maskKey),
      entry.isEntry(of: prefix)
    else { return nil }
    return value(prefix.lengths, keys)
  }

  /// Opens the value of a record that is already known to be that of its entry.
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
        0..<RecordPrefix.associatedDataByteCount, key: keys.valueKey,
        into: (text, range.lowerBound)),
      let value = Padding.value(in: text, range, isRemoval: false)
    else { return nil }
    return SecretBytes(in: text, value)
  }
}

/// Records of a small store as they were read, so that reading them again takes one look at the
/// mark.
///
/// A record that counts never changes: one that was authentic is still so in memory, whatever
/// happened to the file meanwhile.
struct KeptRecords {
  /// The largest number of items in a store whose records are kept.
  ///
  /// In a larger store, most records would be dropped before they are read again.
  static let maximumItemCount = 256
  private static let maximumByteCount = 4 << 10

  /// The records by their starts in the journal.
  private var records: [UInt64: SealedRecord] = [:]

  subscript(offset: UInt64) -> SealedRecord? { records[offset] }

  /// Keeps a record unless it is a long one.
  mutating func keep(_ record: SealedRecord, at offset: UInt64) {
    guard record.byteCount <= Self.maximumByteCount else { return }
    // Some records are superseded by now: all are dropped, and those in use are kept again later.
    if records.count == Self.maximumItemCount { records = [:] }
    records[offset] = record
  }
}
