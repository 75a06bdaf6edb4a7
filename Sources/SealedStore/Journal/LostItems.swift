import SecretStores

/// What a repair could not keep.
struct LostItems: Sendable {
  /// The items without any value that opens.
  private(set) var gone: [ItemName] = []
  /// The items that went back to an older value, or came back because their removal is lost.
  private(set) var older: [ItemName] = []
  /// The number of further items that are gone or older, whose names do not open.
  private(set) var unnamedCount = 0
  /// The number of records that do not open, but are known to be of one of these items, or to be
  /// superseded.
  private(set) var knownRecordCount = 0
  /// The number of bytes of the journal that records account for, known or kept.
  private(set) var accountedByteCount = 0

  init() {}

  /// Compares what counted with what was kept.
  ///
  /// - Parameters:
  ///   - survey: The records of the damaged journal.
  ///   - kept: The records whose values were kept, one for each item.
  ///   - chained: The part that the chain confirms, if there is one.
  ///   - last: The highest number of a record that counts.
  ///   - range: The bytes behind that part whose records count, if they are whole.
  init(
    _ survey: JournalSurvey, kept: [ItemIndex.Entry], _ chained: ChainedPart?,
    upTo last: UInt64, countingIn range: Range<Int>
  ) {
    let kept = Dictionary(uniqueKeysWithValues: kept.map { ($0.tag, $0) })
    let newest = survey.newest(before: range.upperBound).mapValues(\.prefix.number)
    let keptNumbers = survey.keptNumbers
    var lost: Set<ItemTag> = []
    if let chained {
      for entry in chained.index.entries {
        let found = kept[entry.tag]
        // A value behind this part is newer.
        let isNewest = found.map {
          $0.isSameRecord(as: entry) || Int($0.offset) >= chained.byteCount
        }
        // Behind this part it may also have been removed.
        let isRemoved = found == nil && newest[entry.tag] ?? 0 > chained.number
        if isNewest != true && !isRemoved { lost.insert(entry.tag) }
      }
      let found = keptNumbers.count { $0 <= chained.number }
      knownRecordCount = max(0, Int(clamping: chained.number) - found)
    }
    let start = chained?.byteCount ?? JournalHead.byteCount
    // Behind the last number there is only a change that was dropped.
    accountedByteCount = survey.records.reduce(start) { count, record in
      record.offset >= start && record.prefix.number <= last
        ? count + record.prefix.recordByteCount : count
    }
    let whole = Set(survey.records.map(\.prefix.number))
    var known: Set<UInt64> = []
    for record in survey.partial where range.contains(record.offset) {
      let (number, tag) = (record.prefix.number, record.prefix.tag)
      if !record.counts, number > newest[tag] ?? 0 { lost.insert(tag) }
      // Of a copy nothing is lost.
      guard record.hasItemValue ? !whole.contains(number) : !keptNumbers.contains(number),
        known.insert(number).inserted
      else { continue }
      if !record.hasItemValue { knownRecordCount += 1 }
      accountedByteCount += record.prefix.recordByteCount
    }
    for tag in lost {
      guard let name = survey.names[tag] else {
        unnamedCount += 1
        continue
      }
      if kept[tag] == nil { gone.append(name) } else { older.append(name) }
    }
    gone.sort()
    older.sort()
  }
}

/// The part of the journal that the chain confirms, from its beginning to the break.
struct ChainedPart: Sendable {
  let head: JournalHead
  let byteCount: Int
  let number: UInt64
  let version: UInt64
  let index: ItemIndex
  /// Whether nothing shows that the journal went further.
  private let isWhole: Bool

  /// - Parameter view: The view, which is only read here, under the state's lock.
  init(_ view: JournalView) {
    head = view.head
    byteCount = view.end.byteCount
    number = view.end.number
    version = view.end.version
    index = view.index
    // If the mark is damaged, only the first change must be there.
    isWhole =
      view.damage.map { $0.isOfMark && (view.head.predecessor == nil || view.end.number > 0) }
      ?? true
  }

  /// Returns whether this part is the whole journal, and has no item.
  func isWholeAndEmpty(
    _ file: OpenFile, byteCount fileByteCount: Int
  ) throws(StoreError) -> Bool {
    guard isWhole, index.count == 0, byteCount <= fileByteCount else { return false }
    return try file.startOfTrailingZeros(in: byteCount..<fileByteCount) == byteCount
  }
}
