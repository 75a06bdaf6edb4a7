import SecretStores

/// The known state of a journal: the newest record of every item, and how far the journal counts.
///
/// It is only used under the lock of the store's state, which makes the unchecked conformance
/// correct. It is a class, because a copy of the index would cost as much as the index.
final class JournalView: @unchecked Sendable {
  let file: OpenFile
  let identity: FileStatus
  let head: JournalHead
  /// The newest record of every item.
  private(set) var live = LiveRecords()
  /// The end of the part that counts or, in a damaged journal, of the part that the chain confirms.
  private(set) var end: JournalPosition { didSet { sortedNames = nil } }
  /// The start of the last record, if there is one.
  private var lastRecordStart: Int?
  /// The names of all items, if they were listed since the last change.
  var sortedNames: [ItemName]?
  /// Whether this process knows that the directory was synced since the file got its name.
  var isNameDurable = false
  /// The length of the file when it was last read or written.
  var fileByteCount: Int
  var damage: Damage? { didSet { isDamaged = damage != nil } }
  /// Whether there is damage; every read checks this, without a copy of ``damage``.
  private(set) var isDamaged = false
  /// The positions that the journal must pass according to the store's anchor.
  private(set) var anchors: ExpectedPositions
  /// The positions that the journal must pass because it was read up to them before.
  private(set) var seen: ExpectedPositions
  private let chainBuffer = ByteBuffer(byteCount: 16)
  /// The memory in which names are encoded for a search; longer names get memory of their own.
  private let nameBuffer = ByteBuffer(byteCount: nameBufferByteCount)
  private static let nameBufferByteCount = 512
  private lazy var behindBuffer = ByteBuffer(byteCount: JournalReserve.maximumByteCount)
  private var kept = KeptRecords()

  init(
    _ file: OpenFile, identity: FileStatus, head: JournalHead,
    anchors: ExpectedPositions = .none, seen: ExpectedPositions = .none
  ) {
    self.file = file
    self.identity = identity
    self.head = head
    self.anchors = anchors
    self.seen = seen
    fileByteCount = identity.byteCount
    end = head.start
    pass(end)
  }

  /// Passes the end of a change, or of the head, to the expected positions.
  private func pass(_ end: JournalPosition) {
    guard end.byteCount >= nextExpectedByteCount else { return }
    anchors.pass(end)
    seen.pass(end)
  }

  /// The length of the journal at the next expected position.
  private var nextExpectedByteCount: Int { min(anchors.nextByteCount, seen.nextByteCount) }

  /// The mark that confirms everything up to the end.
  var mark: Mark { Mark(journal: head.journal, position: end) }

  /// The index of the newest records.
  var index: ItemIndex { live.index }

  /// Computes the tag of an item.
  func tag(of name: ItemName, _ keys: KeyRing) -> ItemTag {
    let byteCount = name.canonicalByteCount
    guard byteCount <= Self.nameBufferByteCount else {
      return ItemTag(of: name, tagKey: keys.tagKey)
    }
    name.storeCanonical(in: nameBuffer, at: 0)
    return ItemTag(of: nameBuffer, 0..<byteCount, tagKey: keys.tagKey)
  }

  /// Returns the entry of an item's newest record.
  ///
  /// This does not use ``index``, which would be copied for every read.
  func entry(of tag: ItemTag) -> ItemIndex.Entry? { live.index[tag] }

  /// Whether records are kept in memory once they were read.
  var keepsRecords: Bool { live.index.count <= KeptRecords.maximumItemCount }

  /// Returns the record of an entry, if it was kept.
  func keptRecord(of entry: ItemIndex.Entry) -> SealedRecord? {
    keepsRecords ? kept[entry.offset] : nil
  }

  /// Keeps the record of an entry that was read.
  func keep(_ record: SealedRecord, of entry: ItemIndex.Entry) {
    kept.keep(record, at: entry.offset)
  }

  /// The total length of the records that are no longer needed.
  var deadByteCount: Int { end.byteCount - JournalHead.byteCount - live.byteCount }

  /// The number of changes made since the journal was begun.
  var changeCount: UInt64 { end.version &- head.start.version }

  /// The limit of the records: the end or, if journal or mark are damaged, the end of the file.
  ///
  /// The file may have been cut since its head was read.
  var recordsEnd: Int {
    damage == nil ? end.byteCount : max(end.byteCount, fileByteCount)
  }

  /// Makes room for a number of items.
  func reserve(_ count: Int) {
    live.reserve(count)
  }

  /// Advances over a change.
  ///
  /// - Parameters:
  ///   - records: The records of the change, one or more.
  ///   - newEnd: The end of the change.
  func append(_ records: ArraySlice<PendingRecords.Element>, to newEnd: JournalPosition) {
    live.apply(records)
    lastRecordStart = records.last.map { Int($0.entry.offset) } ?? lastRecordStart
    pass(newEnd)
    end = newEnd
  }

  /// The point at which a walk stops.
  enum Goal {
    /// The position in a mark.
    case mark(Mark)
    /// The end of the first change.
    case firstChange
    /// The end of the last whole change, if it is not known how far the journal counts.
    case lastChange

    /// Whether the records of a change that breaks off count.
    var countsParts: Bool {
      if case .lastChange = self { false } else { true }
    }

    func byteCount(in fileByteCount: Int) -> Int {
      switch self {
      case .mark(let mark): min(mark.byteCount, fileByteCount)
      case .firstChange, .lastChange: fileByteCount
      }
    }
  }

  /// Walks from the end to a goal.
  ///
  /// After an error, the view must not be used.
  ///
  /// - Returns: `nil` when the journal reaches the goal; otherwise the place where it breaks off.
  /// - Throws: `io`.
  func advance(to goal: Goal, keys: KeyRing) throws(StoreError) -> Break? {
    // Moved out and back, so that no record costs a check for exclusive access to the property.
    var live = LiveRecords()
    swap(&live, &self.live)
    defer { swap(&live, &self.live) }
    var walker = JournalWalker(
      file, fileByteCount: goal.byteCount(in: fileByteCount), from: end.record, keys: keys)
    var pending = PendingRecords()
    var isInChange = false
    var nextExpected = nextExpectedByteCount
    var (found, foundStart) = (end, lastRecordStart)
    // The end of the last whole change, for a goal for which other changes do not count.
    var (last, lastStart, lastCount) = (end, lastRecordStart, 0)
    var reason: String?
    while let prefix = try walker.next() {
      guard prefix.kind.contains(.first) != isInChange else {
        reason = "a record is out of place in its change"
        break
      }
      pending.append(prefix, at: found.byteCount)
      foundStart = found.byteCount
      found.record = walker.position
      isInChange = !prefix.kind.contains(.last)
      if !isInChange {
        found.version &+= 1
        if found.byteCount >= nextExpected {
          pass(found)
          nextExpected = nextExpectedByteCount
        }
        (last, lastStart, lastCount) = (found, foundStart, pending.records.count)
        if case .firstChange = goal { break }
      }
      if pending.isMany, !isInChange || goal.countsParts {
        if live.index.count == 0 { reserve(for: goal, at: found.record, in: &live) }
        pending.moveAll(to: &live)
        lastCount = 0
      }
    }
    if !goal.countsParts {
      pending.drop(from: lastCount)
      (found, foundStart, isInChange) = (last, lastStart, false)
    }
    pending.moveAll(to: &live)
    (end, lastRecordStart) = (found, foundStart)
    return reason.map { Break(position: end, isInChange: isInChange, $0) }
      ?? breakAtEnd(of: goal, isInChange: isInChange)
  }

  /// Makes room for as many items as there would be if all records were like the first ones.
  ///
  /// This is done only for a mark: the length of the file can be anything.
  private func reserve(for goal: Goal, at position: RecordPosition, in live: inout LiveRecords) {
    guard case .mark = goal else { return }
    let (read, all) = (
      position.byteCount - JournalHead.byteCount,
      goal.byteCount(in: fileByteCount) - JournalHead.byteCount
    )
    live.reserve(all / max(1, read / Int(clamping: position.number)) + 1)
  }

  private func breakAtEnd(of goal: Goal, isInChange: Bool) -> Break? {
    func broken(_ reason: String) -> Break {
      Break(position: end, isInChange: isInChange, reason)
    }
    switch goal {
    case .lastChange:
      return nil
    case .firstChange:
      return end.number > 0 && !isInChange
        ? nil : broken("the first change of the journal breaks off")
    case .mark(let mark):
      if end.byteCount < mark.byteCount {
        return broken(
          fileByteCount < mark.byteCount
            ? "the journal is shorter than was confirmed: it breaks off"
            : "the journal breaks off")
      }
      // The first change of a journal with a predecessor was written before its first mark.
      guard mark.isMet(by: end), !isInChange, end.number > 0 || head.predecessor == nil else {
        return broken("the journal does not match the mark")
      }
      return nil
    }
  }

  /// The place where a walk found something other than was confirmed.
  struct Break {
    let position: JournalPosition
    let isInChange: Bool
    let reason: String

    fileprivate init(position: JournalPosition, isInChange: Bool, _ reason: String) {
      self.position = position
      self.isInChange = isInChange
      self.reason = reason
    }
  }

  /// Returns whether the last record that counts is still in the file, by its chain value.
  ///
  /// - Throws: `io`.
  func hasOwnEnd() throws(StoreError) -> Bool {
    let offset = lastRecordStart.map { $0 + RecordPrefix.chainedByteCount }
    let count = try file.read(
      at: offset ?? JournalHead.chainOffset, into: chainBuffer, 0..<chainBuffer.byteCount)
    return count == chainBuffer.byteCount && Bytes16(chainBuffer, at: 0) == end.chain.bytes
  }

  /// Returns whether there are only zeros, room for changes, behind the end.
  ///
  /// - Throws: `io`.
  func isVacantBehindEnd() throws(StoreError) -> Bool {
    let behind = end.byteCount..<max(end.byteCount, fileByteCount)
    if behind.count <= JournalReserve.maximumByteCount {
      let buffer = behindBuffer
      let count = try file.read(at: behind.lowerBound, into: buffer, 0..<behind.count)
      return buffer.isZero(0..<count)
    }
    guard behind.count <= UnmarkedPart.maximumRemainsByteCount else { return false }
    return try file.startOfTrailingZeros(in: behind) == behind.lowerBound
  }
}
