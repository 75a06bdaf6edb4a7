import Foundation
public import SecretStores

/// The result of a repair.
public struct RepairReport: Hashable, Sendable {
  /// Whether a repair was needed.
  public let wasNeeded: Bool
  /// The number of items that the store has now.
  public let itemCount: Int
  /// The items that are gone, because no value of theirs opens.
  public let goneItems: [ItemName]
  /// The items that went back to an older value, or came back because their removal does not open.
  public let olderItems: [ItemName]
  /// The number of further items that are gone or older, whose names do not open.
  public let unnamedItemCount: Int
  /// The items with their newest values whose names did not open there, and came from other records
  /// of these items.
  public let renamedItems: [ItemName]
  /// The new names of items whose values open, but whose names do not open anywhere.
  ///
  /// The service is `recovered`; the identifier has the name of the damaged journal's copy and
  /// the byte at which the record is there.
  public let recoveredItems: [ItemName]
  /// The number of records that are lost at least: a change that is missing at the end of the
  /// journal may have had many.
  public let lostRecordCount: Int
  /// The number of lost records of which nothing else is known, or more.
  ///
  /// Each may have been superseded, an item of its own, or a newer value or the removal of one of
  /// ``possiblyOlderItems``. The other lost records are those of ``goneItems`` and ``olderItems``,
  /// or were superseded.
  public let unknownRecordCount: Int
  /// The items that have no record behind the last lost one of which nothing else is known.
  public let possiblyOlderItems: [ItemName]
  /// Whether the mark showed how far the journal went; if it did not, any number of the last
  /// changes may be missing, and nothing in the store shows that.
  public let isEndConfirmed: Bool
  /// The path of the damaged journal, kept as it was; `nil` when the journal needed no repair.
  public let keptAt: String?

  /// Whether every item has its newest value, as far as anything shows.
  public var isComplete: Bool {
    goneItems.isEmpty && olderItems.isEmpty && unnamedItemCount == 0 && recoveredItems.isEmpty
      && unknownRecordCount == 0 && isEndConfirmed
  }

  fileprivate init(wasNeeded: Bool, itemCount: Int, _ salvage: StoreWriter.Salvage) {
    self.wasNeeded = wasNeeded
    self.itemCount = itemCount
    goneItems = salvage.lost.gone
    olderItems = salvage.lost.older
    unnamedItemCount = salvage.lost.unnamedCount
    renamedItems = salvage.names.renamed
    recoveredItems = salvage.names.recovered
    lostRecordCount = salvage.lostRecordCount
    unknownRecordCount = salvage.unknownRecordCount
    possiblyOlderItems = salvage.possiblyOlder
    isEndConfirmed = salvage.isEndConfirmed
    keptAt = salvage.keptAt
  }
}

extension SealedFileStore {
  /// Repairs what can be repaired: makes header and copy equal and, when journal or mark are
  /// damaged, salvages every record that still opens into a new journal.
  ///
  /// The damaged journal is kept beside the new one.
  ///
  /// For each item its newest record whose value opens counts, even if its name does not open:
  /// the name then comes from another record of the item (``RepairReport/renamedItems``), or is a
  /// new one (``RepairReport/recoveredItems``). A removal counts if any part of it opens or the
  /// chain confirms it. So only an item whose newest value is lost goes back to an older one
  /// (``RepairReport/olderItems``), or is gone (``RepairReport/goneItems``). If the mark is
  /// damaged, nothing shows whether the journal's last changes are all there: look at
  /// ``RepairReport/isEndConfirmed``.
  ///
  /// If the repair lost changes that other open stores had seen, these throw `corrupt` until they
  /// are opened again.
  ///
  /// - Parameter progress: Receives the number of bytes of the journal that are done.
  /// - Returns: The result.
  /// - Throws: `locked`, `timedOut`, `corrupt` when the journal is missing or no part of it is
  ///   this store's, `noSpace`, `outcomeUnknown`, `accessDenied` or `io`.
  public func repair(progress: Progress? = nil) throws(StoreError) -> RepairReport {
    let (before, salvage) = try holdingWriterLock { writer throws(StoreError) in
      // Under the lock, so that no other process repairs between looking and doing.
      let before = try self.verify(holding: .exclusive)
      let isBroken = before.findings.contains {
        $0.isDamage && ($0.part == .journal || $0.part == .mark)
      }
      guard isBroken else { return (before, StoreWriter.Salvage()) }
      return (before, try writer.salvageJournal(progress: progress))
    }
    // Other files stay, and the next change replaces the mark of the previous journal.
    guard before.findings.contains(where: { $0.isDamage || ![.files, .mark].contains($0.part) })
    else {
      return RepairReport(wasNeeded: false, itemCount: before.itemCount, StoreWriter.Salvage())
    }
    // Preparing to write does the rest.
    try writing(needsHeader: true) { _ throws(StoreError) in }
    let itemCount = try withState { open throws(StoreError) in
      try open.usableJournal().index.count
    }
    return RepairReport(wasNeeded: true, itemCount: itemCount, salvage)
  }
}

extension StoreWriter {
  fileprivate struct Salvage: Sendable {
    var lost = LostItems()
    var names = RestoredNames()
    var lostRecordCount = 0
    var unknownRecordCount = 0
    var possiblyOlder: [ItemName] = []
    var isEndConfirmed = true
    var keptAt: String?
  }

  fileprivate func salvageJournal(progress: SealedFileStore.Progress?) throws(StoreError) -> Salvage
  {
    let (header, keys, chained, end) = try store.withState { open throws(StoreError) in
      _ = try open.refresh(from: loader, holding: .exclusive)
      open.keys.beginUse()
      // A journal that cannot be used at all is surveyed nevertheless.
      let view = try? open.usableJournal()
      // If only values were damaged, mark or predecessor show where the journal ends.
      let end = view.flatMap { $0.isDamaged ? nil : $0.mark }
      return (open.header, open.keys, view.map(ChainedPart.init), end)
    }
    defer { keys.endUse() }
    guard let file = try directory.open(StoreFile.journal, .readWrite) else {
      throw loader.beyondRepair("the journal is missing")
    }
    let headBytes = ByteBuffer(byteCount: JournalHead.byteCount)
    let headByteCount = try file.read(at: 0, into: headBytes, 0..<headBytes.byteCount)
    // The file may have been cut since the head was read.
    let byteCount = try file.status().byteCount
    guard min(headByteCount, byteCount) >= headBytes.byteCount else {
      throw loader.beyondRepair("the journal is cut off")
    }
    let found = try directory.open(StoreFile.mark, .read)
    let mark = try found.flatMap { file throws(StoreError) in try OpenMark(file) }
      .flatMap { Mark($0.seen, chainKey: keys.chainKey) }
    var candidates = [
      JournalIdentifier(bytes: Bytes16(headBytes, at: JournalHead.identifierOffset))
    ]
    // The identifier may be right even if the rest of the head is not; the mark has it, too.
    if chained == nil, let mark { candidates.append(mark.journal) }
    let (journal, survey) = try survey(
      file, JournalHead.byteCount..<byteCount, asFirstOf: candidates, keys, progress)
    let confirmed = end ?? mark.flatMap { $0.journal == journal ? $0 : nil }
    let hasPredecessor = JournalHead(headBytes)?.predecessor != nil
    if survey.counting.isEmpty {
      // A journal may have been only a head, whatever happened to that; but a journal that replaced
      // another had a change.
      var isEmpty =
        byteCount == headByteCount && !hasPredecessor
        && (confirmed.map { $0.byteCount == byteCount } ?? true)
      if !isEmpty, let chained {
        isEmpty = try chained.isWholeAndEmpty(file, byteCount: byteCount)
      }
      guard isEmpty else { throw loader.beyondRepair("no record in the journal opens") }
    }

    let newest = NewestRecords(
      survey, chained, confirmedByteCount: confirmed?.byteCount ?? 0,
      isFirstChangeConfirmed: hasPredecessor)
    let names = try RestoredNames(of: newest.values, survey, journal: journal)
    let keptName = try unusedName("damaged-\(journal.bytes.hexadecimal)", for: file)
    try keep(file, as: keptName)
    let old = if let end { end } else { try anchored(journal) }
    let predecessor = predecessor(confirmed, keys)
    let view = try writeJournal(
      newest.values.filter(\.hasName).map(\.entry),
      of: ItemReader(file, journal: journal, keys: keys, .both),
      and: names.entries, of: ItemReader(file, journal: journal, keys: keys, .value),
      head: JournalHead(
        store: header.store, journal: JournalIdentifier(bytes: environment.random.bytes16()),
        version: Self.version(after: chained, mark, survey),
        predecessor: MarkDigest(of: predecessor), chainKey: keys.chainKey),
      keys: keys, progress: nil)
    try write(predecessor, isMark: confirmed != nil)
    // No open store may still read the old files once this has returned, even with an error: the
    // new journal may be there nevertheless.
    defer { Thread.sleep(forTimeInterval: environment.repairLease / .seconds(1)) }
    try install(view, after: old)
    try confirm(view, keys: keys) { $0.take(view) }
    let last = newest.lastNumber
    let lost = LostItems(
      survey, kept: newest.values.map(\.entry), chained, upTo: last,
      countingIn: Self.rangeBehind(chained, in: survey, upTo: last, mark: confirmed))
    let lostRecordCount = Self.lostRecordCount(
      in: survey, lost, upTo: last, chained?.head, mark: confirmed)
    let unknownCount = max(0, lostRecordCount - lost.knownRecordCount)
    let lastUnknown = newest.lastUnknownNumber(
      of: unknownCount, survey, chained, mark: confirmed)
    let possiblyOlder = newest.values.filter { $0.prefix.number < lastUnknown }
    return Salvage(
      lost: lost, names: names, lostRecordCount: lostRecordCount, unknownRecordCount: unknownCount,
      possiblyOlder: possiblyOlder.compactMap { names.name(of: $0, survey) }.sorted(),
      isEndConfirmed: confirmed != nil,
      keptAt: directory.pathOfFile(keptName))
  }

  /// Returns the highest version that was found, plus 1.
  private static func version(
    after chained: ChainedPart?, _ mark: Mark?, _ survey: JournalSurvey
  ) -> UInt64 {
    let start = chained?.byteCount ?? 0
    let ended = survey.counting.count { $0.offset >= start && $0.prefix.kind.contains(.last) }
    return max((chained?.version ?? 0) &+ UInt64(ended), mark?.version ?? 0) &+ 1
  }

  /// Returns the bytes behind the part that the chain confirms, up to the mark or the end of the
  /// last record that counts.
  private static func rangeBehind(
    _ chained: ChainedPart?, in survey: JournalSurvey, upTo last: UInt64, mark: Mark?
  ) -> Range<Int> {
    let lastEnd = (survey.records + survey.partial).first { $0.prefix.number == last }
      .map { $0.offset + $0.prefix.recordByteCount }
    let start = chained?.byteCount ?? JournalHead.byteCount
    return start..<max(start, lastEnd ?? 0, mark?.byteCount ?? 0)
  }

  /// Counts the records that are lost at least.
  ///
  /// - Parameters:
  ///   - survey: The records that open.
  ///   - known: What is known of the records that do not open.
  ///   - last: The highest number of a record.
  ///   - head: The head of the journal, if it is right.
  ///   - mark: The mark, if it is right.
  /// - Returns: The number.
  private static func lostRecordCount(
    in survey: JournalSurvey, _ known: LostItems, upTo last: UInt64, _ head: JournalHead?,
    mark: Mark?
  ) -> Int {
    // A holder of the keys may have written any number.
    let found = survey.keptNumbers.filter { $0 <= last }
    var lost = max(0, Int(clamping: last) - found.count)
    guard let mark else { return lost }
    // Every change has one last record, wherever it is.
    if let head {
      let changeCount = Int(truncatingIfNeeded: mark.version &- head.start.version)
      let kept = survey.records + survey.partial.filter(\.hasItemValue)
      let ended = Set(
        kept.filter { $0.prefix.kind.contains(.last) }.map(\.prefix.number).filter { $0 <= last })
      lost = max(lost, changeCount &- ended.count)
    }
    // There was a record in the bytes for which nothing accounts.
    let missingCount = known.accountedByteCount < mark.byteCount ? 1 : 0
    return max(lost, known.knownRecordCount + missingCount)
  }

  /// Returns the mark that the new one replaces.
  ///
  /// It is random bytes when nothing shows how far the damaged journal goes: no one can make such a
  /// mark again to go back to this repair.
  private func predecessor(_ confirmed: Mark?, _ keys: KeyRing) -> ByteBuffer {
    if let confirmed { return confirmed.encoded(chainKey: keys.chainKey) }
    let bytes = ByteBuffer(byteCount: Mark.byteCount)
    environment.random.fill(bytes, 0..<Mark.byteCount)
    return bytes
  }

  /// Makes the new journal's predecessor durable, once that journal is durable.
  ///
  /// From then on, a crash may leave nothing that can be read except the new journal.
  ///
  /// - Throws: `noSpace`, `accessDenied`, `io` or `outcomeUnknown`; items that could be read before
  ///   still can be.
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

  /// Returns the mark of the damaged journal in the store's anchor, if it has one.
  private func anchored(_ journal: JournalIdentifier) throws(StoreError) -> Mark? {
    try options.anchor?.anchor(path: path)?.marks.first { $0.journal == journal }
  }

  /// Surveys a journal with the first identifier for which any record opens.
  private func survey(
    _ file: OpenFile, _ range: Range<Int>, asFirstOf journals: [JournalIdentifier],
    _ keys: KeyRing, _ progress: SealedFileStore.Progress?
  ) throws(StoreError) -> (JournalIdentifier, JournalSurvey) {
    var journals = journals[...]
    while true {
      let journal = journals.removeFirst()
      let survey = try JournalSurvey(
        file, in: range, journal: journal, keys: keys, progress: progress)
      if !survey.counting.isEmpty || range.isEmpty || journals.isEmpty { return (journal, survey) }
    }
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
}
