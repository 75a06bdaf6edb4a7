public import SessionToolsBase

/// What a repair did.
public struct RepairReport: Hashable, Sendable {
  /// Whether anything had to be done.
  public let wasNeeded: Bool
  /// The items the store has now.
  public let itemCount: Int
  /// The records that no longer open anywhere.
  ///
  /// Each may have been a newer value, or the removal, of any item.
  public let lostRecordCount: Int
  /// The damaged journal, kept as it was; `nil` when the journal needed no repair.
  public let keptAt: String?
}

extension SealedFileStore {
  /// Mends what can be mended: makes header and copy equal, renews the mark, and salvages every
  /// record that still opens into a new journal.
  ///
  /// The damaged journal is kept beside it.
  ///
  /// For each item its newest record that opens counts, and a removal also when it does not open
  /// but is where the chain has it. So an item whose newest value is lost goes back to an older
  /// one, or is gone: look at ``RepairReport/lostRecordCount`` and at
  /// what ``verify(progress:)`` said before.
  ///
  /// - Parameter progress: Hears how many bytes of the journal are done.
  /// - Returns: What was done.
  /// - Throws: `locked`, `timedOut`, `corrupt` when the journal is missing or no part of it is
  ///   this store's, `noSpace`, `outcomeUnknown`, `accessDenied` or `io`.
  public func repair(progress: StoreProgress? = nil) throws(StoreError) -> RepairReport {
    let (before, salvage) = try holdingWriterLock { writer throws(StoreError) in
      // Under the lock, so that no other process repairs between looking and doing.
      let before = try self.verify()
      guard before.findings.contains(where: { $0.place == .journal }) else {
        return (before, Salvage(lostRecordCount: 0, keptAt: nil))
      }
      return (before, try self.salvageJournal(&writer, progress: progress))
    }
    guard before.findings.contains(where: { $0.place != .files }) else {
      return RepairReport(
        wasNeeded: false, itemCount: before.itemCount, lostRecordCount: 0, keptAt: nil)
    }
    // Preparing to write does the rest; so does a mark for what is confirmed then.
    try writing(needsHeader: true) { writer throws(StoreError) in
      // The one that is open may not be the one in the directory.
      writer.mark = nil
      let (mark, keys) = try self.withState { open throws(StoreError) in
        let view = try open.usableJournal()
        open.keys.beginUse()
        return (view.mark, open.keys)
      }
      defer { keys.endUse() }
      self.writeMark(mark, chainKey: keys.chainKey, &writer)
    }
    let itemCount = try withState { open throws(StoreError) in
      try open.usableJournal().index.count
    }
    return RepairReport(
      wasNeeded: true, itemCount: itemCount, lostRecordCount: salvage.lostRecordCount,
      keptAt: salvage.keptAt)
  }

  private struct Salvage: Sendable {
    var lostRecordCount: Int
    var keptAt: String?
  }

  private func salvageJournal(
    _ writer: inout WriterState, progress: StoreProgress?
  ) throws(StoreError) -> Salvage {
    let (header, keys, chained) = try withState { open throws(StoreError) in
      try open.refresh(from: loader)
      open.keys.beginUse()
      // Why it cannot be used, verifying says.
      return (open.header, open.keys, (try? open.usableJournal()).map(ChainedPart.init))
    }
    defer { keys.endUse() }
    guard let file = try directory.open(StoreFile.journal, .readWrite) else {
      throw noSalvage("the journal is missing")
    }
    let head = ByteBuffer(byteCount: JournalHead.byteCount)
    let headByteCount = try file.read(at: 0, into: head, 0..<head.byteCount)
    // It may have been cut since the head was read.
    let byteCount = try file.status().byteCount
    guard min(headByteCount, byteCount) >= head.byteCount else {
      throw noSalvage("the journal is cut off")
    }
    let mark = try loader.mark(keys: keys)
    let successor = mark?.successor(chainKey: keys.chainKey)
    var candidates = [JournalIdentifier(bytes: Bytes16(head, at: 32))]
    if chained == nil {
      // The identifier may be right even where the rest of the head is not; and the mark, or
      // that of the journal before, tells it as well.
      candidates += [mark?.journal, successor].compactMap(\.self)
    }
    let (journal, survey) = try survey(
      file, JournalHead.byteCount..<byteCount, asFirstOf: candidates, keys, progress)
    guard !survey.records.isEmpty || byteCount == head.byteCount || chained?.isEmpty == true
    else { throw noSalvage("no record in the journal opens") }

    let confirmed = mark.map { $0.journal == journal ? $0.position.number : 0 } ?? 0
    let newest = Self.newestRecords(survey, chained, confirmed: confirmed)
    let last = max(survey.records.map(\.prefix.number).max() ?? 0, confirmed)
    // A number can be anything that whoever had the keys made it.
    let lost = Int(clamping: last) - Set(survey.records.map(\.prefix.number)).count

    let keptName = try unusedName("damaged-\(journal.bytes.hexadecimal)", for: file)
    try keep(file, as: keptName)
    if let mark { try writeDurableMark(mark, chainKey: keys.chainKey, &writer) }
    let view = try rewrite(
      newest, from: file, journal,
      as: successor ?? JournalIdentifier(bytes: environment.random.bytes16()),
      store: header.store, keys: keys)
    try install(view, after: nil)
    take(view)
    return Salvage(lostRecordCount: max(0, lost), keptAt: directory.pathOfFile(keptName))
  }

  /// What the chain vouches for, from the beginning of the journal to where it breaks.
  private struct ChainedPart: Sendable {
    let byteCount: Int
    let index: ItemIndex
    /// Whether it is the whole journal, and there is no item.
    let isEmpty: Bool

    /// - Parameter view: Only looked into here, under the state's lock.
    init(_ view: JournalView) {
      byteCount = view.end.byteCount
      index = view.index
      isEmpty = view.damage == nil && view.index.count == 0
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

  /// For each item the record with the highest number; none when that is a removal, or belongs
  /// to a last change that was never finished, as far as the mark does not say that it was.
  ///
  /// A removal counts as well when it does not open, as long as the chain vouches for it.
  private static func newestRecords(
    _ survey: JournalSurvey, _ chained: ChainedPart?, confirmed: UInt64
  ) -> [ItemIndex.Entry] {
    var records = survey.records.sorted {
      ($0.prefix.number, $0.offset) < ($1.prefix.number, $1.offset)
    }
    dropUnfinishedChange(&records, confirmed: confirmed)
    var newest: [ItemTag: JournalSurvey.Found] = [:]
    for record in records { newest[record.prefix.tag] = record }
    return newest.values.filter { record in
      guard !record.prefix.flags.contains(.removed) else { return false }
      guard let chained, record.offset < chained.byteCount else { return true }
      return chained.index[record.prefix.tag] != nil
    }.map(\.entry)
  }

  /// Drops the records of a last change of which nothing says that it was ever finished.
  ///
  /// It may lack the records at its end, or only the first one, whose flags are written last.
  private static func dropUnfinishedChange(
    _ records: inout [JournalSurvey.Found], confirmed: UInt64
  ) {
    func dropChangeWithoutEnd() {
      while let last = records.last, last.prefix.number > confirmed,
        !last.prefix.flags.contains(.last)
      {
        records.removeLast()
      }
    }
    dropChangeWithoutEnd()
    // Where the first one is missing, so is a number.
    guard var start = records.indices.last, records[start].prefix.number > confirmed else { return }
    while start > 0, case let before = records[start - 1].prefix,
      before.number + 1 == records[start].prefix.number, before.number > confirmed,
      !before.flags.contains(.last)
    {
      start -= 1
    }
    guard !records[start].prefix.flags.contains(.first) else { return }
    records.removeSubrange(start...)
    dropChangeWithoutEnd()
  }

  private func keep(_ file: OpenFile, as name: String) throws(StoreError) {
    let copy = try directory.create(name)
    try file.copyData(to: copy)
    try copy.synchronize()
    try directory.synchronize()
  }

  private func rewrite(
    _ entries: [ItemIndex.Entry], from file: OpenFile, _ journal: JournalIdentifier,
    as successor: JournalIdentifier, store: StoreIdentifier, keys: KeyRing
  ) throws(StoreError) -> JournalView {
    do throws(StoreError) {
      var rewriter = try JournalRewriter(
        try directory.create(StoreFile.journalNext), journal: successor, store: store,
        keys: keys, random: environment.random)
      let reader = ItemReader(file, journal: journal, keys: keys)
      try reader.forEach(
        entries, progress: nil, failure: { corruptRecord($0.offset, "it was changed") },
        { record, _ throws(StoreError) in try rewriter.add(record) })
      return try rewriter.finish()
    } catch {
      directory.discard(StoreFile.journalNext)
      throw error
    }
  }

  private func noSalvage(_ reason: String) -> StoreError {
    StoreError(
      StoreError.corrupt, store: path, reason: "\(reason), so there is nothing to salvage",
      remedy: "Put the store's directory back from a backup")
  }
}
