import SessionToolsBase

/// What is known of a journal: where the newest record of every item is, and how it ends.
///
/// Only touched under the lock of the store's state: this makes the unchecked conformance true.
/// A class, because a copy of the index would cost as much as the index.
final class JournalView: @unchecked Sendable {
  /// More than this is not written as one change: it has to be in memory as a whole.
  static let largestChangeByteCount = 1 << 30

  let file: OpenFile
  let identity: FileStatus
  let head: JournalHead
  var index = ItemIndex()
  /// The end of the last whole change.
  var end: JournalPosition
  /// The length up to which a sync is known to have happened.
  var confirmedByteCount: Int
  /// The length of the file when it was last looked at.
  private(set) var seenByteCount = 0
  /// Bytes of an unfinished write behind the end, when it was last looked at.
  var tailByteCount = 0
  /// The length of all records of ``index``.
  var liveByteCount = 0
  var damage: Damage?

  init(_ file: OpenFile, identity: FileStatus, head: JournalHead) {
    self.file = file
    self.identity = identity
    self.head = head
    end = JournalPosition(byteCount: JournalHead.byteCount, number: 0, chain: head.chain)
    confirmedByteCount = JournalHead.byteCount
  }

  /// The length of records that are of no more use.
  var deadByteCount: Int { end.byteCount - JournalHead.byteCount - liveByteCount }

  /// Makes an entry the newest of its item, or takes the item out.
  func apply(_ entry: ItemIndex.Entry, isRemoved: Bool) {
    let old: ItemIndex.Entry?
    if isRemoved {
      old = index.remove(entry.tag)
    } else {
      old = index.update(entry)
      liveByteCount += entry.recordByteCount
    }
    liveByteCount -= old?.recordByteCount ?? 0
  }

  /// Reads on from the end to a length of the file that was asked for after the mark was read.
  ///
  /// - Parameters:
  ///   - fileByteCount: The file's length.
  ///   - mark: The mark, if it is one of this journal.
  ///   - keys: The store's keys.
  /// - Throws: `io`. Damage is no error here; it is noted.
  func extend(
    to fileByteCount: Int, mark: Mark?, keys: KeyRing
  ) throws(StoreError) {
    var walker = JournalWalker(
      file, fileByteCount: fileByteCount, from: end, chainKey: keys.chainKey)
    var change: [(entry: ItemIndex.Entry, isRemoved: Bool)] = []
    var reason = "the journal breaks off"
    // A mark before the part that is read now was compared when that part was read.
    let isLookedAtBefore = end.number > 0
    var isMarkMet =
      mark.map {
        $0.position == end || (isLookedAtBefore && $0.position.byteCount < end.byteCount)
      } ?? true
    var breakByteCount = end.byteCount
    while true {
      let start = walker.position.byteCount
      breakByteCount = start
      guard let prefix = try walker.next() else { break }
      guard prefix.flags.contains(.first) == change.isEmpty else {
        reason = "a record is not where its change says"
        break
      }
      let entry = ItemIndex.Entry(
        tag: prefix.tag, offset: UInt64(start), sealedByteCount: UInt32(prefix.sealedByteCount),
        numberLow: UInt32(truncatingIfNeeded: prefix.number))
      change.append((entry, prefix.flags.contains(.removed)))
      guard prefix.flags.contains(.last) else { continue }
      end = walker.position
      for (entry, isRemoved) in change {
        apply(entry, isRemoved: isRemoved)
      }
      change.removeAll(keepingCapacity: true)
      if let mark, mark.position.byteCount == end.byteCount { isMarkMet = mark.position == end }
    }
    // The same tail as before was examined before; to look at every byte of it again would
    // make each read as slow as opening.
    let isSameTail =
      damage == nil && seenByteCount == fileByteCount
      && tailByteCount == fileByteCount - end.byteCount
    seenByteCount = fileByteCount
    tailByteCount = fileByteCount - end.byteCount
    confirmedByteCount = max(confirmedByteCount, min(mark?.position.byteCount ?? 0, end.byteCount))

    let examination = BreakExamination(
      file: file, fileByteCount: fileByteCount, end: end,
      breakByteCount: breakByteCount, journal: head.journal, keys: keys, mark: mark)
    if let mark, mark.position.byteCount <= end.byteCount, !isMarkMet {
      damage = Damage(
        offset: mark.position.byteCount, reason: "the journal is not the one that was confirmed",
        tagsBehind: nil)
    } else if try isSameTail ? examination.isBeforeMark : examination.isDamage() {
      if let mark, mark.position.byteCount > fileByteCount {
        reason = "the journal ends before what was confirmed"
      }
      damage = Damage(
        offset: end.byteCount, reason: reason, tagsBehind: try examination.tagsBehind())
    } else {
      damage = nil
    }
  }
}
