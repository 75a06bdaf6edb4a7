import SessionToolsBase

/// Goes through every byte of a journal and tells which records open, whatever the chain says.
///
/// For verifying and salvaging; reads never rely on it.
struct JournalSurvey {
  /// A record that opens.
  struct Found {
    let prefix: RecordPrefix
    let offset: Int

    var entry: ItemIndex.Entry { ItemIndex.Entry(prefix, at: offset) }
  }

  /// A stretch of the file in which no record opens.
  struct Gap: Equatable {
    let range: Range<Int>
    /// The prefix at its start, if the bytes there look like one.
    let prefix: RecordPrefix?
  }

  private(set) var records: [Found] = []
  private(set) var gaps: [Gap] = []
  /// The names of items, as far as records with them open.
  private(set) var names: [ItemTag: StoreKey] = [:]

  /// Surveys a part of a journal.
  ///
  /// - Parameters:
  ///   - file: The journal.
  ///   - range: From where to where; from the end of the head to the end of the file, as a
  ///     rule.
  ///   - journal: The journal's identifier.
  ///   - keys: The store's keys.
  ///   - progress: Hears how many bytes are done.
  /// - Throws: `io`.
  init(
    _ file: OpenFile, in range: Range<Int>, journal: JournalIdentifier, keys: KeyRing,
    progress: StoreProgress?
  ) throws(StoreError) {
    let opener = RecordOpener(journal: journal, keys: keys)
    var window = JournalWindow(file)
    // Forged lengths could make every offset cost a megabyte: what is behind them is given up.
    let largestTriedByteCount = max(64 << 20, 4 * range.count)
    var triedByteCount = 0
    var start = range.lowerBound
    var gapStart: Int?
    var gapPrefix: RecordPrefix?
    while start < range.upperBound {
      if records.count & 1023 == 0 { progress?.report(start, range.upperBound) }
      let prefix = try Self.prefix(at: start, in: range, &window)
      if let prefix,
        let record = try opener.read(
          from: file, at: start, byteCount: prefix.recordByteCount),
        record.tag(nameKey: keys.nameKey) == prefix.tag, let key = record.key
      {
        if let begin = gapStart {
          gaps.append(Gap(range: begin..<start, prefix: gapPrefix))
          gapStart = nil
        }
        records.append(Found(prefix: prefix, offset: start))
        names[prefix.tag] = key
        start += prefix.recordByteCount
        continue
      }
      triedByteCount += prefix?.recordByteCount ?? 0
      if triedByteCount > largestTriedByteCount {
        gapStart = gapStart ?? start
        break
      }
      if gapStart == nil {
        gapStart = start
        gapPrefix = prefix
        // The length in front is most likely right: so most damage costs one step, not a
        // search at every byte.
        if let prefix,
          try Self.prefix(at: start + prefix.recordByteCount, in: range, &window)
            .map({ $0.number == prefix.number + 1 })
            ?? (start + prefix.recordByteCount == range.upperBound)
        {
          start += prefix.recordByteCount
          continue
        }
      }
      start += max(1, window.skippableByteCount(from: start))
    }
    if let begin = gapStart {
      gaps.append(Gap(range: begin..<range.upperBound, prefix: gapPrefix))
    }
    progress?.report(range.upperBound, range.upperBound)
  }

  private static func prefix(
    at start: Int, in range: Range<Int>, _ window: inout JournalWindow
  ) throws(StoreError) -> RecordPrefix? {
    guard start + RecordPlaintext.smallestRecordByteCount <= range.upperBound,
      let offset = try window.offset(of: start..<start + RecordPrefix.byteCount),
      let prefix = RecordPrefix(window.buffer, at: offset),
      start + prefix.recordByteCount <= range.upperBound
    else { return nil }
    return prefix
  }
}
