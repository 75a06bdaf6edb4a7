import SecretStores

/// A search through every byte of a journal for records that open, whatever the chain says.
///
/// It is for verification and repair; reads never rely on it.
struct JournalSurvey {
  /// A record of which at least one part opens: both bind the prefix, which is right then.
  struct Found {
    let prefix: RecordPrefix
    let offset: Int
    let hasName: Bool
    let hasValue: Bool

    var isWhole: Bool { hasName && hasValue }
    var isRemoval: Bool { prefix.kind.contains(.removed) }
    /// Whether it has the value of its item; another record may have the name.
    var hasItemValue: Bool { hasValue && !isRemoval }
    /// Whether it shows what became of its item: a removal needs no other part for that.
    var counts: Bool { hasValue || isRemoval }
    var entry: ItemIndex.Entry { ItemIndex.Entry(prefix, at: offset) }
  }

  /// A record that does not open, or not as a whole.
  struct Unopened {
    let prefix: RecordPrefix
    let offset: Int
    /// The number in the prefix where that is right; otherwise the one behind that of the record
    /// before, and without such a record the one in the prefix, which may be what was damaged.
    let number: UInt64
    /// The record, if one of its parts opens.
    let part: Found?

    var isAuthentic: Bool { part != nil }
  }

  /// A stretch of the file in which no record opens.
  struct Gap {
    let range: Range<Int>
    /// The record at its start, if the bytes there look like one.
    let record: Unopened?
  }

  /// The records that open, each only once: copies, which anyone can make, would fill the memory.
  private(set) var records: [Found] = []
  /// The records of which one part opens, each only once for each part.
  private(set) var partial: [Found] = []
  /// Records that do not open, in a limited number: those where a record is expected, whose
  /// prefixes are most likely right.
  private(set) var unopened: [Unopened] = []
  /// The first gaps, in a limited number: every byte could be one.
  private(set) var gaps: [Gap] = []
  /// The start of the first gap that is not among ``gaps``.
  private(set) var firstOtherGap: Int?
  /// The names of items, if they open.
  private(set) var names: [ItemTag: ItemName] = [:]

  private static let maximumGapCount = 10_000

  /// The number of records at the front that are in the order of their numbers; the others follow.
  private var orderedCount = 0
  private var unordered: Set<RecordName> = []
  private var named: Set<RecordName> = []
  private var nameless: Set<RecordName> = []

  private struct RecordName: Hashable {
    let number: UInt64
    let tag: ItemTag
  }

  /// Surveys a part of a journal.
  ///
  /// - Parameters:
  ///   - file: The journal.
  ///   - range: The range to survey, usually from the end of the head to the end of the file.
  ///   - journal: The journal's identifier.
  ///   - keys: The store's keys.
  ///   - progress: Receives the number of bytes that are done.
  /// - Throws: `io`.
  init(
    _ file: OpenFile, in range: Range<Int>, journal: JournalIdentifier, keys: KeyRing,
    progress: SealedFileStore.Progress?
  ) throws(StoreError) {
    let opener = RecordOpener(journal: journal, keys: keys)
    var window = JournalWindow(file, spanning: range.count)
    var steps = ProgressSteps(progress, total: range.upperBound, step: 1 << 20)
    var budget = TrialBudget()
    var start = range.lowerBound
    var gapStart: Int?
    var gapRecord: Unopened?
    // The number of a record at the start, if it is known.
    var expectedNumber: UInt64? = range.lowerBound == JournalHead.byteCount ? 1 : nil
    // Behind a record, and behind one that does not open but has a likely length.
    var isRecordExpected = true
    while start < range.upperBound {
      steps.reached(start)
      let prefix = try Self.prefix(at: start, in: range, &window, keys)
      let opened = try prefix.flatMap { prefix throws(StoreError) in
        try opener.readParts(from: file, at: start, prefix.lengths)
      }
      let found = opened.map {
        Found(
          prefix: $0.record.prefix, offset: start, hasName: $0.hasName, hasValue: $0.hasValue)
      }
      if let opened, opened.hasName, let key = opened.record.name {
        names[opened.record.prefix.tag] = key
      }
      if let prefix, let found, found.isWhole {
        if let begin = gapStart {
          add(Gap(range: begin..<start, record: gapRecord))
          gapStart = nil
        }
        add(found)
        start += prefix.recordByteCount
        isRecordExpected = true
        expectedNumber = prefix.number &+ 1
        budget.add(searched: prefix.recordByteCount)
        continue
      }
      var record: Unopened?
      if let prefix {
        let broken = Unopened(
          prefix: prefix, offset: start,
          number: found?.prefix.number ?? expectedNumber ?? prefix.number, part: found)
        if let found {
          add(partial: found)
        } else if isRecordExpected, unopened.count < Self.maximumGapCount {
          unopened.append(broken)
        }
        record = broken
      }
      expectedNumber = nil
      isRecordExpected = false
      // The rest of the range is given up.
      guard budget.take(prefix?.recordByteCount ?? 0) else {
        gapStart = gapStart ?? start
        break
      }
      let isFirst = gapStart == nil
      if isFirst { (gapStart, gapRecord) = (start, record) }
      // The length in the prefix is most likely right, so most damage costs one step, not a search
      // at every byte.
      var isLengthLikely = record?.isAuthentic == true
      if !isLengthLikely, isFirst, let prefix {
        let next = try Self.prefix(
          at: start + prefix.recordByteCount, in: range, &window, keys)
        // The number wraps, because anyone can have written it.
        isLengthLikely =
          next.map { $0.number == prefix.number &+ 1 }
          ?? (start + prefix.recordByteCount == range.upperBound)
      }
      if isLengthLikely, let record {
        // Each record is a gap of its own, so that each is reported.
        if let begin = gapStart, begin < start { add(Gap(range: begin..<start, record: gapRecord)) }
        gapStart = nil
        let end = start + record.prefix.recordByteCount
        add(Gap(range: start..<end, record: record))
        start = end
        isRecordExpected = true
        expectedNumber = record.number &+ 1
        // This was one step and no search.
        budget.giveBack(record.prefix.recordByteCount)
        continue
      }
      let next = try window.nextCandidate(after: start, in: range)
      budget.add(searched: min(next - start, JournalPage.byteCount))
      start = next
    }
    if let begin = gapStart {
      let end = try file.startOfTrailingZeros(in: begin..<range.upperBound)
      // Zeros are the journal's reserve.
      if end > begin { add(Gap(range: begin..<end, record: gapRecord)) }
    }
    steps.finish()
  }

  /// The records that show what became of their items.
  var counting: [Found] { records + partial.filter(\.counts) }

  /// Returns the newest of these records of each item, of those before an offset.
  func newest(before end: Int) -> [ItemTag: Found] {
    counting.reduce(into: [:]) { newest, record in
      guard record.offset < end else { return }
      let known = newest[record.prefix.tag]
      if known.map({ $0.prefix.number < record.prefix.number }) ?? true {
        newest[record.prefix.tag] = record
      }
    }
  }

  /// The offset of the last record of each item that shows what became of it.
  var lastOffsets: [ItemTag: Int] {
    counting.reduce(into: [:]) { last, record in
      last[record.prefix.tag] = max(last[record.prefix.tag] ?? 0, record.offset)
    }
  }

  /// The numbers of the records that a repair needs nothing else of: the others are lost.
  var keptNumbers: Set<UInt64> {
    Set((records + partial.filter(\.hasItemValue)).map(\.prefix.number))
  }

  private mutating func add(_ gap: Gap) {
    if gaps.count < Self.maximumGapCount {
      gaps.append(gap)
    } else if firstOtherGap == nil {
      firstOtherGap = gap.range.lowerBound
    }
  }

  private mutating func add(_ record: Found) {
    if orderedCount == records.count,
      records.last.map({ $0.prefix.number < record.prefix.number }) ?? true
    {
      orderedCount += 1
      return records.append(record)
    }
    let name = RecordName(number: record.prefix.number, tag: record.prefix.tag)
    guard !isOrdered(name), unordered.insert(name).inserted else { return }
    records.append(record)
  }

  private mutating func add(partial record: Found) {
    let name = RecordName(number: record.prefix.number, tag: record.prefix.tag)
    let isNew = record.hasName ? named.insert(name).inserted : nameless.insert(name).inserted
    if isNew { partial.append(record) }
  }

  /// Returns whether a record is among those in order.
  private func isOrdered(_ name: RecordName) -> Bool {
    var range = 0..<orderedCount
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      let prefix = records[middle].prefix
      if prefix.number == name.number { return prefix.tag == name.tag }
      range =
        prefix.number < name.number
        ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return false
  }

  private static func prefix(
    at start: Int, in range: Range<Int>, _ window: inout JournalWindow, _ keys: KeyRing
  ) throws(StoreError) -> RecordPrefix? {
    guard range.upperBound - start >= RecordLengths.minimumRecordByteCount,
      let offset = try window.offset(of: start..<start + RecordPrefix.byteCount),
      let prefix = RecordPrefix(window.buffer, at: offset, maskKey: keys.maskKey),
      prefix.recordByteCount <= range.upperBound - start
    else { return nil }
    return prefix
  }
}

/// The number of bytes that a search for records may try to open.
///
/// Anyone can make every byte look like the start of a record of megabytes, so that trying them all
/// would take forever. The budget is therefore 64 MiB and four times the bytes that were searched.
/// Holes, which take no time to make, do not count.
struct TrialBudget {
  private static let factor = 4

  private var leftByteCount = 64 << 20

  /// Adds the budget for bytes that were searched.
  mutating func add(searched byteCount: Int) {
    leftByteCount += Self.factor * byteCount
  }

  /// Returns bytes that were taken to the budget.
  mutating func giveBack(_ byteCount: Int) {
    leftByteCount += byteCount
  }

  /// Takes the length of a record that will be tried; `false` when it is too much.
  mutating func take(_ byteCount: Int) -> Bool {
    guard byteCount <= leftByteCount else { return false }
    leftByteCount -= byteCount
    return true
  }
}
