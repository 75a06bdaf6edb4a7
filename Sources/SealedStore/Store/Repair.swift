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
  /// For each item its newest record that opens counts, so an item whose newest record is lost
  /// goes back to an older value, or is gone: look at ``RepairReport/lostRecordCount`` and at
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
    let (header, keys) = try withState { open throws(StoreError) in
      try open.refresh(from: loader)
      open.keys.beginUse()
      return (open.header, open.keys)
    }
    defer { keys.endUse() }
    guard let file = try directory.open(StoreDirectory.File.journal, .readWrite) else {
      throw noSalvage("the journal is missing")
    }
    let head = ByteBuffer(byteCount: JournalHead.byteCount)
    let headByteCount = try file.read(at: 0, into: head, 0..<head.byteCount)
    guard headByteCount == head.byteCount else { throw noSalvage("the journal is cut off") }
    let byteCount = try file.status().byteCount
    let mark = try loader.mark(keys: keys)
    let successor =
      mark?.successor(chainKey: keys.chainKey)
      ?? JournalIdentifier(bytes: environment.random.bytes16())
    // The identifier may be right even where the rest of the head is not; and the mark, or that
    // of the journal before, tells it as well.
    var journal = JournalIdentifier(bytes: Bytes16(head, at: 32))
    var others = [mark?.journal, successor].compactMap(\.self).filter { $0 != journal }
    var survey = try JournalSurvey(
      file, in: JournalHead.byteCount..<byteCount, journal: journal, keys: keys,
      progress: progress)
    while survey.records.isEmpty, byteCount > JournalHead.byteCount, !others.isEmpty {
      journal = others.removeFirst()
      survey = try JournalSurvey(
        file, in: JournalHead.byteCount..<byteCount, journal: journal, keys: keys,
        progress: progress)
    }
    guard !survey.records.isEmpty || byteCount == JournalHead.byteCount else {
      throw noSalvage("no record in the journal opens")
    }

    let confirmed = mark.map { $0.journal == journal ? $0.position.number : 0 } ?? 0
    let newest = Self.newestRecords(survey, confirmed: confirmed)
    let last = max(survey.records.map(\.prefix.number).max() ?? 0, confirmed)
    // A number can be anything that whoever had the keys made it.
    let lost = Int(clamping: last) - Set(survey.records.map(\.prefix.number)).count

    let keptName = try unusedName("damaged-\(journal.bytes.hexadecimal)", for: file)
    try keep(file, byteCount: byteCount, as: keptName)
    if let mark { try writeDurableMark(mark, chainKey: keys.chainKey, &writer) }
    let view = try rewrite(
      newest, from: file, journal, as: successor, store: header.store, keys: keys)
    try install(view, after: nil)
    withStateIfOpen { $0.journal = .success(view) }
    return Salvage(lostRecordCount: max(0, lost), keptAt: directory.pathOfFile(keptName))
  }

  /// For each item the record with the highest number; none when that is a removal, or belongs
  /// to a last change that was never finished, as far as the mark does not say that it was.
  private static func newestRecords(
    _ survey: JournalSurvey, confirmed: UInt64
  ) -> [ItemIndex.Entry] {
    var records = survey.records.sorted {
      ($0.prefix.number, $0.offset) < ($1.prefix.number, $1.offset)
    }
    while let last = records.last, last.prefix.number > confirmed,
      !last.prefix.flags.contains(.last)
    {
      records.removeLast()
    }
    var newest: [ItemTag: JournalSurvey.Found] = [:]
    for record in records where newest[record.prefix.tag]?.prefix.number != record.prefix.number {
      newest[record.prefix.tag] = record
    }
    return newest.values.filter { !$0.prefix.flags.contains(.removed) }.map(\.entry)
  }

  private func keep(_ file: OpenFile, byteCount: Int, as name: String) throws(StoreError) {
    let copy = try directory.create(name)
    try file.copy(0..<byteCount, to: copy, at: 0)
    try copy.synchronize()
    try directory.synchronize()
  }

  private func rewrite(
    _ entries: [ItemIndex.Entry], from file: OpenFile, _ journal: JournalIdentifier,
    as successor: JournalIdentifier, store: StoreIdentifier, keys: KeyRing
  ) throws(StoreError) -> JournalView {
    do throws(StoreError) {
      var rewriter = try JournalRewriter(
        try directory.create(StoreDirectory.File.journalNext), journal: successor, store: store,
        keys: keys, random: environment.random)
      let reader = ItemReader(file, journal: journal, keys: keys)
      try reader.forEach(
        entries, progress: nil, failure: { corruptRecord($0.offset, "it was changed") },
        { record, _ throws(StoreError) in try rewriter.add(record) })
      return try rewriter.finish()
    } catch {
      directory.discard(StoreDirectory.File.journalNext)
      throw error
    }
  }

  private func noSalvage(_ reason: String) -> StoreError {
    StoreError(
      StoreError.corrupt, store: path, reason: "\(reason), so there is nothing to salvage",
      remedy: "Put the store's directory back from a backup")
  }
}
