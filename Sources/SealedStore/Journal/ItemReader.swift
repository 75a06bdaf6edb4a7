import SecretStores

/// A reader that opens many records of a journal, in the order of their places in the file.
struct ItemReader {
  private let file: OpenFile
  private let opener: RecordOpener
  private let parts: RecordOpener.Parts
  private let associatedData = RecordOpener.associatedData()

  /// The length above which only the name of a record is read, if only names are opened.
  private static let maximumByteCountForName = 16 << 10

  private var maximumByteCountInWindow: Int {
    parts == .nameOfKnownKind ? Self.maximumByteCountForName : JournalWindow.maximumRangeByteCount
  }

  /// Begins to read a journal.
  ///
  /// - Parameters:
  ///   - file: The journal.
  ///   - journal: The journal's identifier, to which the records are bound.
  ///   - keys: The store's keys.
  ///   - parts: The parts of each record to open.
  init(
    _ file: OpenFile, journal: JournalIdentifier, keys: KeyRing, _ parts: RecordOpener.Parts
  ) {
    self.file = file
    self.parts = parts
    opener = RecordOpener(journal: journal, keys: keys)
  }

  /// Calls a closure with the open record of every entry.
  ///
  /// - Parameters:
  ///   - entries: The entries, in any order.
  ///   - progress: Called after every few items.
  ///   - failure: Returns the error for a record that does not open.
  ///   - body: The closure; a record is valid only until it returns.
  /// - Throws: `io`, the failure, or an error of the closure.
  func forEach(
    _ entries: some Collection<ItemIndex.Entry>, progress: SealedFileStore.Progress?,
    failure: (ItemIndex.Entry) -> StoreError,
    _ body: (RecordOpener.OpenRecord, ItemIndex.Entry) throws(StoreError) -> Void
  ) throws(StoreError) {
    let entries = entries.sorted { $0.offset < $1.offset }
    let span = entries.last.map { Int($0.offset - entries[0].offset) + $0.recordByteCount }
    var window = JournalWindow(file, spanning: span ?? 0)
    var steps = ProgressSteps(progress, total: entries.count, step: 1024)
    for (done, entry) in entries.enumerated() {
      guard let record = try open(entry, &window), isEntry(entry, of: record) else {
        throw failure(entry)
      }
      try body(record, entry)
      steps.reached(done)
    }
    steps.finish()
  }

  /// Returns when the item of an open record was put; `nil` when the writer wrote no time.
  func time(of record: RecordOpener.OpenRecord) -> RecordTime? { opener.time(of: record) }

  private func isEntry(_ entry: ItemIndex.Entry, of record: RecordOpener.OpenRecord) -> Bool {
    switch parts {
    case .value: entry.isEntry(of: record.prefix)
    case .nameOfKnownKind:
      entry.hasPlace(of: record.prefix) && opener.tag(of: record) == entry.tag
    case .name, .both: entry.isEntry(of: record.prefix) && opener.tag(of: record) == entry.tag
    }
  }

  private func open(
    _ entry: ItemIndex.Entry, _ window: inout JournalWindow
  ) throws(StoreError) -> RecordOpener.OpenRecord? {
    let start = Int(entry.offset)
    let end = start + entry.recordByteCount
    guard entry.recordByteCount <= maximumByteCountInWindow else {
      return try opener.read(from: file, at: start, fileByteCount: end, parts)
    }
    // The record is opened in place, because every record is read only once.
    guard let offset = try window.offset(of: start..<end) else {
      return nil
    }
    return opener.open(window.buffer, at: offset, parts, with: associatedData)
  }
}
