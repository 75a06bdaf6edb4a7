import SecretStores

/// A walk over the records of a journal, which checks the chain and unmasks kinds and tags.
///
/// No name and no value is decrypted.
struct JournalWalker {
  private var reader: JournalPartReader
  private var part: JournalPart
  private var nextIndex = 0
  /// The end of the records that were walked.
  private(set) var position: RecordPosition

  /// - Parameters:
  ///   - file: The journal.
  ///   - fileByteCount: The largest number of bytes of it to walk.
  ///   - position: The position to begin at.
  ///   - keys: The store's keys.
  init(_ file: OpenFile, fileByteCount: Int, from position: RecordPosition, keys: KeyRing) {
    reader = JournalPartReader(file, fileByteCount: fileByteCount, from: position, keys: keys)
    part = JournalPart(at: position)
    self.position = position
  }

  /// Returns the next record if it is whole and chained to the one before; `nil` at the end or at a
  /// break, where ``position`` stays.
  ///
  /// - Throws: `io`.
  mutating func next() throws(StoreError) -> RecordPrefix? {
    while nextIndex == part.records.count {
      guard !part.isLast, let next = try nextPart() else { return nil }
      part = next
      nextIndex = 0
    }
    let record = part.records[nextIndex]
    nextIndex += 1
    position = RecordPosition(
      byteCount: position.byteCount + record.recordByteCount, number: record.number,
      chain: record.chain)
    return record
  }

  private mutating func nextPart() throws(StoreError) -> JournalPart? {
    let start = JournalPage.start(of: position.byteCount)
    try reader.load(start)
    var part = try reader.part(from: position, before: start + JournalPartReader.partByteCount)
    reader.check(&part, from: position)
    return part
  }
}
