import SessionToolsBase

/// A journal that was changed by something other than a writer or an interrupted write.
struct Damage: Equatable {
  /// What was found, and where.
  let reason: String
  /// The items that records behind the break belong to, when every byte there is accounted
  /// for by records that still open; `nil` when something may be missing.
  let tagsBehind: Set<ItemTag>?

  init(_ reason: String, at offset: Int, tagsBehind: Set<ItemTag>?) {
    self.reason = "\(reason) at byte \(offset)"
    self.tagsBehind = tagsBehind
  }

  /// A sound journal in the place of one that was confirmed later.
  static let putBack = Damage(
    reason: "this journal is older than what was confirmed: it was put back", tagsBehind: nil)

  private init(reason: String, tagsBehind: Set<ItemTag>?) {
    self.reason = reason
    self.tagsBehind = tagsBehind
  }

  /// The error that reads and writes get.
  func error(path: String) -> StoreError {
    StoreError(
      StoreError.corrupt, store: path, reason: reason,
      remedy: "Make a copy of the store's directory, then run session-tools verify and repair")
  }
}

/// Finds out what stands behind a break in a journal.
struct BreakExamination {
  let file: OpenFile
  let fileByteCount: Int
  /// The end of the last whole change.
  let end: JournalPosition
  /// Where the walk stopped: at the end, or behind records of a change that is not whole.
  let breakByteCount: Int
  let journal: JournalIdentifier
  let keys: KeyRing
  /// Where the journal is known to have been confirmed behind the end.
  let confirmedAhead: [JournalPosition]
  /// Where the reserve begins: behind what else there is behind the end.
  private let reserveStart: Int
  private let isTooLong: Bool

  /// - Throws: `io`.
  init(
    file: OpenFile, fileByteCount: Int, end: JournalPosition, breakByteCount: Int,
    journal: JournalIdentifier, keys: KeyRing, confirmedAhead: [JournalPosition]
  ) throws(StoreError) {
    self.file = file
    self.fileByteCount = fileByteCount
    self.end = end
    self.breakByteCount = breakByteCount
    self.journal = journal
    self.keys = keys
    self.confirmedAhead = confirmedAhead
    let behind = min(end.byteCount, fileByteCount)..<fileByteCount
    // No writer leaves more than one change and its reserve, and a sparse file of terabytes must
    // not keep a reader busy for hours.
    isTooLong =
      behind.count > SealedFileStore.largestChangeByteCount + JournalReserve.largestByteCount
    reserveStart = isTooLong ? fileByteCount : try file.startOfTrailingZeros(in: behind)
  }

  /// Bytes behind the end without the reserve.
  var tailByteCount: Int { reserveStart - end.byteCount }

  private var opener: RecordOpener { RecordOpener(journal: journal, keys: keys) }

  /// Whether the bytes behind the end are damage and not an unfinished write.
  ///
  /// A change is synced before the next one is written. So what a crash leaves is one change,
  /// beginning at the end, and no record of it but its first says that it starts a change. A
  /// record that opens where the walk broke is damage as well: a torn write cannot spoil the
  /// chain value and spare the bytes on both sides of it.
  ///
  /// - Throws: `io`.
  func isDamage() throws(StoreError) -> Bool {
    guard confirmedAhead.isEmpty else { return true }
    guard tailByteCount > 0 else { return false }
    if isTooLong { return true }
    if try record(at: breakByteCount) != nil { return true }
    return try startsAnotherChange()
  }

  private func startsAnotherChange() throws(StoreError) -> Bool {
    var window = JournalWindow(file, spanning: tailByteCount)
    var budget = TrialBudget()
    var start = end.byteCount + 1
    let last = min(reserveStart, fileByteCount - RecordPlaintext.smallestRecordByteCount)
    while start <= last,
      let offset = try window.offset(of: start..<start + RecordPrefix.byteCount)
    {
      let inWindow = min(window.byteCount(from: start) - RecordPrefix.byteCount, last - start)
      var step = 0
      while step <= inWindow {
        let word = window.buffer.load(UInt64.self, at: offset + step)
        if word == 0, window.skippableByteCount(from: start + step) > 0 {
          step += window.skippableByteCount(from: start + step)
          continue
        }
        // Nearly every offset fails here: the three zero bytes and the flags of a prefix.
        if word >> 35 == 0,
          let prefix = candidate(window.buffer, offset + step, at: start + step)
        {
          // The careful answer.
          guard budget.take(prefix.recordByteCount) else { return true }
          if try record(at: start + step) != nil { return true }
        }
        step += 1
      }
      start += step
      budget.add(searched: step)
    }
    return false
  }

  /// A prefix that says it starts a change, whichever: an older one here is a replay.
  private func candidate(
    _ buffer: ByteBuffer, _ offset: Int, at start: Int
  ) -> RecordPrefix? {
    guard let prefix = RecordPrefix(buffer, at: offset), prefix.flags.contains(.first),
      start + prefix.recordByteCount <= fileByteCount
    else { return nil }
    return prefix
  }

  /// The items behind the end, when nothing there but chain values was hit: whole records with
  /// consecutive numbers reach to the reserve in whole changes, every one opens, and
  /// the chain, computed anew, is the one that was confirmed.
  ///
  /// - Throws: `io`.
  func tagsBehind() throws(StoreError) -> Set<ItemTag>? {
    var tags: Set<ItemTag> = []
    var chain = RecordChain(after: end, chainKey: keys.chainKey)
    var isInChange = false
    var confirmed = ConfirmedPositions(confirmedAhead, from: end)
    while chain.position.byteCount < reserveStart {
      guard let record = try record(at: chain.position.byteCount),
        record.prefix.number == chain.position.number + 1,
        record.prefix.flags.contains(.first) != isInChange
      else { return nil }
      tags.insert(record.prefix.tag)
      isInChange = !record.prefix.flags.contains(.last)
      chain.append(record.buffer, at: record.offset, record.prefix)
      if !isInChange { confirmed.pass(chain.position) }
    }
    let isConfirmed = confirmed.ahead.isEmpty && confirmed.contradicted == nil
    return isConfirmed && !isInChange ? tags : nil
  }

  private func record(at start: Int) throws(StoreError) -> RecordOpener.OpenRecord? {
    try opener.read(from: file, at: start, fileByteCount: fileByteCount)
  }
}
