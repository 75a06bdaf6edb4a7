import Foundation
public import SessionToolsBase

/// What a repair did.
public struct RepairReport: Hashable, Sendable {
  /// Whether anything had to be done.
  public let wasNeeded: Bool
  /// The items the store has now.
  public let itemCount: Int
  /// The records that no longer open anywhere, as far as that is known: of changes that are gone
  /// from the end of the journal, at least one record each.
  ///
  /// Each may have been a newer value, or the removal, of any item.
  public let lostRecordCount: Int
  /// Whether the mark said how far the journal went; if it did not, any number of the last changes
  /// may be missing, and nothing in the store tells.
  public let isEndConfirmed: Bool
  /// The damaged journal, kept as it was; `nil` when the journal needed no repair.
  public let keptAt: String?
}

extension SealedFileStore {
  /// Mends what can be mended: makes header and copy equal, and salvages every record that still
  /// opens into a new journal, when journal or mark are damaged.
  ///
  /// The damaged journal is kept beside it.
  ///
  /// For each item its newest record that opens counts, and a removal also when it does not open
  /// but is where the chain has it. So an item whose newest value is lost goes back to an older
  /// one, or is gone: look at ``RepairReport/lostRecordCount`` and at
  /// what ``verify(progress:)`` said before. Where the mark is damaged, nothing tells whether the
  /// journal's last changes are all there: look at ``RepairReport/isEndConfirmed``.
  ///
  /// Other open stores answer `corrupt` afterwards, until they are opened again, when the repair
  /// lost changes that they had seen.
  ///
  /// - Parameter progress: Told how many bytes of the journal are done.
  /// - Returns: What was done.
  /// - Throws: `locked`, `timedOut`, `corrupt` when the journal is missing or no part of it is
  ///   this store's, `noSpace`, `outcomeUnknown`, `accessDenied` or `io`.
  public func repair(progress: StoreProgress? = nil) throws(StoreError) -> RepairReport {
    let (before, salvage) = try holdingWriterLock { writer throws(StoreError) in
      // Under the lock, so that no other process repairs between looking and doing.
      let before = try self.verify(holding: .exclusive)
      let isBroken = before.findings.contains {
        $0.isDamage && ($0.place == .journal || $0.place == .mark)
      }
      guard isBroken else { return (before, Salvage(lostRecordCount: 0, keptAt: nil)) }
      return (before, try self.salvageJournal(&writer, progress: progress))
    }
    // Other files stay, and the mark of the journal before is replaced by the next change.
    guard before.findings.contains(where: { $0.isDamage || ![.files, .mark].contains($0.place) })
    else {
      return RepairReport(
        wasNeeded: false, itemCount: before.itemCount, lostRecordCount: 0,
        isEndConfirmed: true, keptAt: nil)
    }
    // Preparing to write does the rest.
    try writing(needsHeader: true) { _ throws(StoreError) in }
    let itemCount = try withState { open throws(StoreError) in
      try open.usableJournal().index.count
    }
    return RepairReport(
      wasNeeded: true, itemCount: itemCount, lostRecordCount: salvage.lostRecordCount,
      isEndConfirmed: salvage.isEndConfirmed, keptAt: salvage.keptAt)
  }

  private struct Salvage: Sendable {
    var lostRecordCount: Int
    var isEndConfirmed = true
    var keptAt: String?
  }

  private func salvageJournal(
    _ writer: inout WriterState, progress: StoreProgress?
  ) throws(StoreError) -> Salvage {
    let (header, keys, chained, end) = try withState { open throws(StoreError) in
      _ = try open.refresh(from: loader, holding: .exclusive)
      open.keys.beginUse()
      // A journal that cannot be used at all is surveyed all the same.
      let view = try? open.usableJournal()
      // Where only values were hit, mark or predecessor say where the journal ends.
      let end = view.flatMap { $0.isDamaged ? nil : $0.mark }
      return (open.header, open.keys, view.map(ChainedPart.init), end)
    }
    defer { keys.endUse() }
    guard let file = try directory.open(StoreFile.journal, .readWrite) else {
      throw noSalvage("the journal is missing")
    }
    let headBytes = ByteBuffer(byteCount: JournalHead.byteCount)
    let headByteCount = try file.read(at: 0, into: headBytes, 0..<headBytes.byteCount)
    // It may have been cut since the head was read.
    let byteCount = try file.status().byteCount
    guard min(headByteCount, byteCount) >= headBytes.byteCount else {
      throw noSalvage("the journal is cut off")
    }
    let found = try directory.open(StoreFile.mark, .read)
    let mark = try found.flatMap { file throws(StoreError) in try OpenMark(file) }
      .flatMap { Mark($0.seen, chainKey: keys.chainKey) }
    var candidates = [
      JournalIdentifier(bytes: Bytes16(headBytes, at: JournalHead.identifierOffset))
    ]
    // The identifier may be right even where the rest of the head is not; the mark has it as well.
    if chained == nil, let mark { candidates.append(mark.journal) }
    let (journal, survey) = try survey(
      file, JournalHead.byteCount..<byteCount, asFirstOf: candidates, keys, progress)
    let confirmed = end ?? mark.flatMap { $0.journal == journal ? $0 : nil }
    let hasPredecessor = JournalHead(headBytes)?.predecessor != nil
    if survey.records.isEmpty {
      // Whatever became of a head that is all there was; behind one that replaced another journal
      // there was a change.
      var isEmpty =
        byteCount == headByteCount && !hasPredecessor
        && (confirmed.map { $0.byteCount == byteCount } ?? true)
      if !isEmpty, let chained {
        isEmpty = try chained.isWholeAndEmpty(file, byteCount: byteCount)
      }
      guard isEmpty else { throw noSalvage("no record in the journal opens") }
    }

    let (newest, last) = Self.newestRecords(
      survey, chained, confirmedByteCount: confirmed?.byteCount ?? 0,
      isFirstChangeConfirmed: hasPredecessor)
    let keptName = try unusedName("damaged-\(journal.bytes.hexadecimal)", for: file)
    try keep(file, as: keptName)
    let old = if let end { end } else { try anchored(journal) }
    let predecessor = predecessor(confirmed, keys)
    let view = try writeJournal(
      newest, of: ItemReader(file, journal: journal, keys: keys, .both),
      head: JournalHead(
        store: header.store, journal: JournalIdentifier(bytes: environment.random.bytes16()),
        version: Self.version(after: chained, mark, survey),
        predecessor: MarkDigest(of: predecessor), chainKey: keys.chainKey),
      keys: keys, progress: nil)
    try write(predecessor, isMark: confirmed != nil)
    // Nobody may read what was there before once this has been answered, be it with an error: the new
    // journal may be there all the same.
    defer { Thread.sleep(forTimeInterval: environment.repairLease / .seconds(1)) }
    try install(view, after: old)
    try confirm(view, keys: keys) { $0.take(view) }
    return Salvage(
      lostRecordCount: Self.lostRecordCount(
        in: survey, upTo: last, chained?.head, mark: confirmed),
      isEndConfirmed: confirmed != nil,
      keptAt: directory.pathOfFile(keptName))
  }

  /// One more than any version that was found.
  private static func version(
    after chained: ChainedPart?, _ mark: Mark?, _ survey: JournalSurvey
  ) -> UInt64 {
    let start = chained?.byteCount ?? 0
    let ended = survey.records.count { $0.offset >= start && $0.prefix.kind.contains(.last) }
    return max((chained?.version ?? 0) &+ UInt64(ended), mark?.version ?? 0) &+ 1
  }

  /// How many records are lost at least.
  ///
  /// - Parameters:
  ///   - survey: What opens.
  ///   - last: The highest number of a record.
  ///   - head: The head of the journal, if it is right.
  ///   - mark: The mark, if it is right.
  /// - Returns: The number.
  private static func lostRecordCount(
    in survey: JournalSurvey, upTo last: UInt64, _ head: JournalHead?, mark: Mark?
  ) -> Int {
    let records = survey.records
    // A number can be anything that a holder of the keys made it.
    let found = Set(records.map(\.prefix.number)).filter { $0 <= last }
    var lost = max(0, Int(clamping: last) - found.count)
    guard let mark else { return lost }
    // Every change has one last record, wherever it is.
    if let head {
      let changeCount = Int(truncatingIfNeeded: mark.version &- head.start.version)
      lost = max(lost, changeCount &- records.count { $0.prefix.kind.contains(.last) })
    }
    let byteCount = records.reduce(JournalHead.byteCount) { $0 + $1.prefix.recordByteCount }
    return byteCount < mark.byteCount ? max(lost, 1) : lost
  }

  /// The mark whose place the new one takes.
  ///
  /// Random bytes where nothing says how far the damaged journal goes: nobody can make such a mark
  /// again to go back to this repair.
  private func predecessor(_ confirmed: Mark?, _ keys: KeyRing) -> ByteBuffer {
    if let confirmed { return confirmed.encoded(chainKey: keys.chainKey) }
    let bytes = ByteBuffer(byteCount: Mark.byteCount)
    environment.random.fill(bytes, 0..<Mark.byteCount)
    return bytes
  }

  /// Makes the new journal's predecessor durable, once that journal is: from then on a crash may leave
  /// nothing else that can be read.
  ///
  /// - Throws: `noSpace`, `accessDenied`, `io` or `outcomeUnknown`; what could be read before still can.
  private func write(_ predecessor: ByteBuffer, isMark: Bool) throws(StoreError) {
    do throws(StoreError) {
      if isMark, let file = try directory.open(StoreFile.mark, .readWrite) {
        try OpenMark.writeDurably(predecessor.bytes(0..<Mark.byteCount), to: file)
      } else {
        try directory.replace(StoreFile.mark, with: predecessor)
      }
    } catch {
      directory.discard(StoreFile.journalNext)
      throw error
    }
  }

  /// How far the damaged journal has to go for the store's anchor, if it does.
  private func anchored(_ journal: JournalIdentifier) throws(StoreError) -> Mark? {
    try options.anchor?.anchor(path: path)?.marks.first { $0.journal == journal }
  }

  /// What the chain vouches for, from the beginning of the journal to where it breaks.
  private struct ChainedPart: Sendable {
    let head: JournalHead
    let byteCount: Int
    let number: UInt64
    let version: UInt64
    let index: ItemIndex
    /// Whether nothing says that the journal went further.
    private let isWhole: Bool

    /// - Parameter view: Only looked into here, under the state's lock.
    init(_ view: JournalView) {
      head = view.head
      byteCount = view.end.byteCount
      number = view.end.number
      version = view.end.version
      index = view.index
      // Where the mark is damaged, only the first change has to be there.
      isWhole =
        view.damage.map { $0.isOfMark && (view.head.predecessor == nil || view.end.number > 0) }
        ?? true
    }

    /// Whether the whole journal is this part, and there is no item in it.
    func isWholeAndEmpty(
      _ file: OpenFile, byteCount fileByteCount: Int
    ) throws(StoreError) -> Bool {
      guard isWhole, index.count == 0, byteCount <= fileByteCount else { return false }
      return try file.startOfTrailingZeros(in: byteCount..<fileByteCount) == byteCount
    }
  }

  /// What opens as records of a journal, of the first identifier for which anything does.
  private func survey(
    _ file: OpenFile, _ range: Range<Int>, asFirstOf journals: [JournalIdentifier],
    _ keys: KeyRing, _ progress: StoreProgress?
  ) throws(StoreError) -> (JournalIdentifier, JournalSurvey) {
    var journals = journals[...]
    while true {
      let journal = journals.removeFirst()
      let survey = try JournalSurvey(
        file, in: range, journal: journal, keys: keys, progress: progress)
      if !survey.records.isEmpty || range.isEmpty || journals.isEmpty { return (journal, survey) }
    }
  }

  /// For each item the record with the highest number, if that is no removal, and the highest number
  /// of all records.
  ///
  /// The last change behind the mark does not count unless it is whole: it may never have been
  /// confirmed. A removal counts as well when it does not open, as long as the chain vouches for it.
  private static func newestRecords(
    _ survey: JournalSurvey, _ chained: ChainedPart?, confirmedByteCount: Int,
    isFirstChangeConfirmed: Bool
  ) -> (entries: [ItemIndex.Entry], lastNumber: UInt64) {
    // The chain has settled its numbers: another record with one of them is of a change that was
    // dropped.
    var records = survey.records.filter { record in
      guard let chained else { return true }
      return record.offset < chained.byteCount || record.prefix.number > chained.number
    }.sorted { ($0.prefix.number, $0.offset) < ($1.prefix.number, $1.offset) }
    // The first change of a journal that took another's place was synced before it had its name.
    let firstUnconfirmed =
      isFirstChangeConfirmed
      ? (records.firstIndex { $0.prefix.kind.contains(.last) } ?? records.endIndex - 1) + 1 : 0
    records.removeSubrange(
      endOfWholeChanges(records, from: firstUnconfirmed, behind: confirmedByteCount)...)
    var newest: [ItemTag: JournalSurvey.Found] = [:]
    for record in records { newest[record.prefix.tag] = record }
    let entries = newest.values.filter { record in
      guard !record.prefix.kind.contains(.removed) else { return false }
      guard let chained, record.offset < chained.byteCount else { return true }
      return chained.index[record.prefix.tag] != nil
    }.map(\.entry)
    return (entries, records.last?.prefix.number ?? 0)
  }

  /// Where the last change begins when it is not whole; otherwise the end.
  ///
  /// - Parameters:
  ///   - records: By their numbers.
  ///   - first: The first record of which the change can be.
  ///   - byteCount: How much of the file is confirmed.
  /// - Returns: A position among the records.
  private static func endOfWholeChanges(
    _ records: [JournalSurvey.Found], from first: Int, behind byteCount: Int
  ) -> Int {
    var (start, isWhole) = (records.count, true)
    while start > first, records[start - 1].offset >= byteCount {
      let prefix = records[start - 1].prefix
      if start == records.count {
        isWhole = prefix.kind.contains(.last)
      } else {
        // Of the change before: this one has lost its beginning.
        if prefix.kind.contains(.last) { break }
        if prefix.number &+ 1 != records[start].prefix.number { isWhole = false }
      }
      start -= 1
      if prefix.kind.contains(.first) { return isWhole ? records.count : start }
    }
    return start
  }

  private func keep(_ file: OpenFile, as name: String) throws(StoreError) {
    do throws(StoreError) {
      let copy = try directory.create(name)
      try file.copyData(to: copy)
      try copy.synchronize()
      try directory.synchronize()
    } catch {
      directory.discard(name)
      throw error
    }
  }

  private func noSalvage(_ reason: String) -> StoreError {
    StoreError(
      StoreError.corrupt, store: path, reason: "\(reason), so there is nothing to salvage",
      remedy: "Put the store's directory back from a backup")
  }
}
