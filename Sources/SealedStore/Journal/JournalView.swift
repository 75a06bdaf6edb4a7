import SessionToolsBase

/// What is known of a journal: where the newest record of every item is, and how it ends.
///
/// Only touched under the lock of the store's state: this makes the unchecked conformance true.
/// A class, because a copy of the index would cost as much as the index.
final class JournalView: @unchecked Sendable {
  let file: OpenFile
  let identity: FileStatus
  let head: JournalHead
  /// The newest record of every item.
  private(set) var live = LiveRecords()
  /// The end of the last whole change.
  var end: JournalPosition { didSet { sortedKeys = nil } }
  /// The keys of all items, if they were listed since the last change.
  var sortedKeys: [StoreKey]?
  /// Whether this process knows that the directory was synced since the file got its name.
  var isNameDurable = false
  /// Where the last whole change starts, as far as it was read.
  private(set) var lastChangeByteCount = JournalHead.byteCount
  /// The length up to which a sync is known to have happened.
  var confirmedByteCount: Int
  /// The length of the file when it was last looked at.
  var fileByteCount = 0
  /// The first bytes behind the end when they were last looked at, if a change starts there: its
  /// chain value is that of no other.
  private var startBehindEnd: [UInt8] = []
  /// Bytes of an unfinished write behind the end, when it was last looked at.
  var tailByteCount = 0
  private let startBuffer = ByteBuffer(byteCount: RecordPrefix.byteCount)
  var damage: Damage?
  /// Whether there was a mark that the keys made when the journal was read from its start.
  var hasMark = true

  init(_ file: OpenFile, identity: FileStatus, head: JournalHead) {
    self.file = file
    self.identity = identity
    self.head = head
    end = JournalPosition(byteCount: JournalHead.byteCount, number: 0, chain: head.chain)
    confirmedByteCount = JournalHead.byteCount
  }

  /// What says that everything up to the end is confirmed.
  var mark: Mark { Mark(journal: head.journal, position: end) }

  /// Where the newest records are.
  var index: ItemIndex { live.index }

  /// The length of records that are of no more use.
  var deadByteCount: Int { end.byteCount - JournalHead.byteCount - live.byteCount }

  /// Up to where records may stand: the end, or that of the file where the journal is damaged.
  ///
  /// The file may have been cut since its head was read.
  var recordsEnd: Int { damage == nil ? end.byteCount : max(end.byteCount, fileByteCount) }

  /// Makes an entry the newest of its item, or takes the item out.
  func apply(_ entry: ItemIndex.Entry, isRemoved: Bool) {
    live.apply(entry, isRemoved: isRemoved)
  }

  /// Makes room for a number of items.
  func reserve(_ count: Int) {
    live.reserve(count)
  }

  /// Whether no change was written behind the end since it was last looked at, if the file has the
  /// same length.
  ///
  /// - Throws: `io`.
  func isSameBehindEnd() throws(StoreError) -> Bool {
    guard fileByteCount > end.byteCount else { return true }
    return try readChangeStart() == startBehindEnd
  }

  /// Whether no change was written behind the end since another look at the same file.
  func hasSameEnd(as other: JournalView) -> Bool {
    end == other.end && startBehindEnd == other.startBehindEnd
  }

  /// Reads the first bytes behind the end; none where no change starts: its flags are what is
  /// written last.
  private func readChangeStart() throws(StoreError) -> [UInt8] {
    let count = try file.read(at: end.byteCount, into: startBuffer, 0..<startBuffer.byteCount)
    let isStarted =
      count > RecordPrefix.flagsOffset
      && startBuffer.load(UInt8.self, at: RecordPrefix.flagsOffset) != 0
    return isStarted ? startBuffer.bytes(0..<count) : []
  }

  /// Where the first record of a change is that does not open; `nil` when all do.
  ///
  /// A power cut may have kept both ends of a record, which are all that the chain looks at, and
  /// lost some sectors between them. So a change of which nothing says that it was ever synced
  /// counts only when it opens.
  private func offsetOfTornRecord(
    in change: ArraySlice<PendingRecords.Element>, keys: KeyRing
  ) throws(StoreError) -> Int? {
    let opener = RecordOpener(journal: head.journal, keys: keys)
    for (entry, _) in change {
      let start = Int(entry.offset)
      if try opener.read(from: file, at: start, byteCount: entry.recordByteCount) == nil {
        return start
      }
    }
    return nil
  }

  /// Reads on from the end to a length of the file that was asked for after the mark was read.
  ///
  /// After an error, the view is of no more use.
  ///
  /// - Parameters:
  ///   - fileByteCount: The file's length.
  ///   - positions: Where the journal was confirmed, as far as that is known.
  ///   - keys: The store's keys.
  /// - Throws: `io`. Damage is no error here; it is noted.
  func extend(
    to fileByteCount: Int, confirmed positions: [JournalPosition], keys: KeyRing
  ) throws(StoreError) {
    var byteCount = fileByteCount
    while true {
      let (endBefore, startBefore) = (end, try readChangeStart())
      try look(to: byteCount, confirmed: positions, keys: keys)
      startBehindEnd = try readChangeStart()
      // A change that starts behind the end now, and may not have when it was looked at, was
      // written by another process meanwhile.
      if startBehindEnd.isEmpty || end == endBefore && startBehindEnd == startBefore { return }
      byteCount = try file.status().byteCount
    }
  }

  private func look(
    to fileByteCount: Int, confirmed positions: [JournalPosition], keys: KeyRing
  ) throws(StoreError) {
    let furthest = positions.max { $0.byteCount < $1.byteCount }
    // Taken out and put back, so that no record costs a check for exclusive access to it.
    var live = LiveRecords()
    swap(&live, &self.live)
    defer { swap(&live, &self.live) }
    func walk(trustingFirst byteCount: Int) throws(StoreError) -> JournalWalk {
      var walk = JournalWalk(behind: (lastChangeByteCount, end), confirmed: positions)
      var walker = JournalWalker(
        file, fileByteCount: fileByteCount, from: end, chainKey: keys.chainKey)
      try walk.go(along: &walker, into: &live, trustingFirst: byteCount)
      return walk
    }
    var walked: JournalWalk
    if end.number == 0, let furthest {
      let most = (fileByteCount - end.byteCount) / RecordPlaintext.smallestRecordByteCount
      live.reserve(min(Int(clamping: furthest.number), most))
      walked = try walk(trustingFirst: furthest.byteCount)
      if !walked.isAsConfirmed {
        live = LiveRecords()
        walked = try walk(trustingFirst: 0)
      }
    } else {
      walked = try walk(trustingFirst: 0)
    }
    if walked.last.end.byteCount > max(confirmedByteCount, furthest?.byteCount ?? 0),
      let torn = try offsetOfTornRecord(in: walked.lastChange, keys: keys)
    {
      walked.dropLastChange(tornAt: torn)
    }
    walked.end(&live)
    // Not before: what was read until something fails is read again.
    (lastChangeByteCount, end) = walked.last
    self.fileByteCount = fileByteCount
    confirmedByteCount = max(confirmedByteCount, min(furthest?.byteCount ?? 0, end.byteCount))

    let examination = try BreakExamination(
      file: file, fileByteCount: fileByteCount, end: end,
      breakByteCount: walked.breakByteCount, journal: head.journal, keys: keys,
      confirmedAhead: walked.confirmed.ahead)
    tailByteCount = examination.tailByteCount
    if let contradicted = walked.confirmed.contradicted {
      damage = Damage(
        "the journal is not the one that was confirmed", at: contradicted.byteCount,
        tagsBehind: nil)
    } else if try examination.isDamage() {
      let isShort = (furthest?.byteCount ?? 0) > end.byteCount + tailByteCount
      let reason = isShort ? "the journal ends before what was confirmed" : walked.reason
      damage = Damage(reason, at: end.byteCount, tagsBehind: try examination.tagsBehind())
    } else {
      damage = nil
    }
  }
}
