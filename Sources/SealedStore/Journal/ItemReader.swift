import SessionToolsBase

/// Reads and opens many records of a journal in the order in which they stand there.
struct ItemReader {
  private let file: OpenFile
  private let opener: RecordOpener
  private let associatedData = RecordOpener.associatedData()
  private let nameKey: KeyBytes

  init(_ file: OpenFile, journal: JournalIdentifier, keys: KeyRing) {
    self.file = file
    opener = RecordOpener(journal: journal, keys: keys)
    nameKey = keys.nameKey
  }

  /// Calls a closure with the open record of every entry.
  ///
  /// - Parameters:
  ///   - entries: In any order.
  ///   - progress: Told of every few items.
  ///   - failure: The error for a record that does not open.
  ///   - body: Called with each; the record is only there until it returns.
  /// - Throws: `io`, the failure, or what the closure throws.
  func forEach(
    _ entries: [ItemIndex.Entry], progress: StoreProgress?,
    failure: (ItemIndex.Entry) -> StoreError,
    _ body: (RecordOpener.OpenRecord, ItemIndex.Entry) throws(StoreError) -> Void
  ) throws(StoreError) {
    let entries = entries.sorted { $0.offset < $1.offset }
    let span = entries.last.map { Int($0.offset - entries[0].offset) + $0.recordByteCount }
    var window = JournalWindow(file, spanning: span ?? 0)
    var steps = ProgressSteps(progress, total: entries.count, step: 1024)
    for (done, entry) in entries.enumerated() {
      guard let record = try open(entry, &window),
        record.prefix.tag == entry.tag,
        UInt32(truncatingIfNeeded: record.prefix.number) == entry.numberLow,
        record.tag(nameKey: nameKey) == entry.tag
      else { throw failure(entry) }
      try body(record, entry)
      steps.reached(done)
    }
    steps.finish()
  }

  private func open(
    _ entry: ItemIndex.Entry, _ window: inout JournalWindow
  ) throws(StoreError) -> RecordOpener.OpenRecord? {
    let start = Int(entry.offset)
    guard entry.recordByteCount <= JournalWindow.largestRangeByteCount else {
      return try opener.read(from: file, at: start, byteCount: entry.recordByteCount)
    }
    // Opened where it was read: every record is read once only.
    guard let offset = try window.offset(of: start..<start + entry.recordByteCount) else {
      return nil
    }
    return opener.open(window.buffer, at: offset, with: associatedData)
  }
}
