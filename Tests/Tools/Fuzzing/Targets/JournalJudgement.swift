import SessionToolsBase

/// The result that the format's description requires for a journal and a mark.
struct JournalJudgement {
  /// The contents of the newest record of an item.
  struct Newest {
    let isRemoved: Bool
    /// The item's name, if the name opens and matches the item.
    let name: ItemName?
    let value: [UInt8]?
  }

  /// Whether the head is valid for a journal of this store and version.
  private(set) var isUsable = false
  /// Whether every read except of ``certainTags`` must fail.
  private(set) var isDamaged = true
  /// The newest records, by the tags of their items.
  private(set) var newest: [[UInt8]: Newest] = [:]
  /// The items of a damaged journal that may still be read.
  private(set) var certainTags: Set<[UInt8]> = []
  /// The end of the records that count after the store was opened.
  private(set) var byteCount = 0
  /// Whether opening counts or drops any bytes behind the mark.
  private(set) var isRecovered = false

  private struct Position: Equatable {
    var byteCount: Int
    var version: UInt64
    var chain: [UInt8]
  }

  private let bytes: [UInt8]
  private var number: UInt64 = 0
  private var position = Position(byteCount: 0, version: 0, chain: [])
  /// The records of the change that is not complete yet.
  private var change: [JournalRecord] = []
  private var passed: Set<Int> = []

  private var journal: [UInt8] { Array(bytes[32..<48]) }

  init(_ bytes: [UInt8], mark: [UInt8]?) {
    self.bytes = bytes
    let headByteCount = KnownStore.headByteCount
    guard bytes.count >= headByteCount else { return }
    let head = Array(bytes[..<headByteCount])
    guard Array(head[..<32]) == Array(KnownStore.journalHead()[..<32]),
      Primitives.sip(key: KnownStore.chainKey, Array(head[..<72])) == Array(head[72...])
    else { return }
    isUsable = true
    let predecessor = Array(head[56..<72])
    let hasPredecessor = predecessor.contains { $0 != 0 }
    position = Position(
      byteCount: headByteCount,
      version: head.integer(at: 48, byteCount: 8) &- (hasPredecessor ? 1 : 0),
      chain: Array(head[72...]))
    guard let mark, mark.count == 64 else { return }
    if let goal = goal(of: mark) {
      while position.byteCount < goal.byteCount, walk(upTo: goal.byteCount) {}
      guard position == goal, change.isEmpty, number > 0 || !hasPredecessor else {
        findCertainTags(upTo: goal)
        return
      }
    } else {
      guard hasPredecessor, KnownStore.digest(of: mark) == predecessor else { return }
      repeat { guard walk(upTo: bytes.count) else { return } } while !change.isEmpty
    }
    judgeBehindMark()
  }

  /// Returns the end of this journal in a mark, or `nil` if the mark is not for this journal.
  private func goal(of mark: [UInt8]) -> Position? {
    guard Primitives.sip(key: KnownStore.chainKey, Array(mark[..<48])) == Array(mark[48...]),
      Array(mark[..<16]) == journal
    else { return nil }
    return Position(
      byteCount: Int(clamping: mark.integer(at: 16, byteCount: 8)),
      version: mark.integer(at: 24, byteCount: 8), chain: Array(mark[32..<48]))
  }

  /// Advances by a record.
  ///
  /// Returns `false` if the chain breaks or if changes do not begin and end alternately.
  private mutating func walk(upTo end: Int) -> Bool {
    guard let record = JournalRecord(bytes, at: position.byteCount), record.range.upperBound <= end,
      record.number == number &+ 1, record.kind < 8,
      record.chain(after: position.chain) == record.chain, record.isFirst == change.isEmpty
    else { return false }
    number = record.number
    position.byteCount = record.range.upperBound
    position.chain = record.chain
    change.append(record)
    if record.isLast {
      position.version &+= 1
      apply(change)
      change = []
    }
    return true
  }

  private mutating func apply(_ change: [JournalRecord]) {
    for record in change {
      let canonical = record.canonicalName(journal: journal)
      newest[record.tag] = Newest(
        isRemoved: record.isRemoved,
        name: canonical.flatMap {
          KnownStore.tag(of: $0) == record.tag ? ItemName(canonicalBytes: $0) : nil
        }, value: record.content(journal: journal))
    }
  }

  /// Finds the items whose state is still certain in a journal that breaks in front of its mark.
  private mutating func findCertainTags(upTo goal: Position) {
    // The records in front of the break count, although their change does not continue.
    apply(change)
    let end = min(goal.byteCount, bytes.count)
    guard bytes[end...].allSatisfy({ $0 == 0 }) else { return }
    var behind: Set<[UInt8]> = []
    var isInChange = !change.isEmpty
    var found = position
    var foundNumber = number
    while found.byteCount < goal.byteCount {
      guard let record = JournalRecord(bytes, at: found.byteCount),
        record.range.upperBound <= end, record.number == foundNumber &+ 1,
        record.isAuthentic(journal: journal), record.isFirst != isInChange
      else { return }
      behind.insert(record.tag)
      isInChange = !record.isLast
      if !isInChange { found.version &+= 1 }
      foundNumber = record.number
      found.chain = record.chain(after: found.chain)
      found.byteCount = record.range.upperBound
    }
    guard found == goal, !isInChange else { return }
    certainTags = Set(newest.filter { !$0.value.isRemoved && !behind.contains($0.key) }.keys)
  }

  private mutating func judgeBehindMark() {
    let (marked, markedNewest) = (position, newest)
    var ends = [(position, markedNewest)]
    var last: [JournalRecord] = []
    var records: [JournalRecord] = []
    while true {
      let offset = position.byteCount
      let before = change
      guard walk(upTo: bytes.count) else { break }
      passed.insert(offset)
      guard let record = JournalRecord(bytes, at: offset) else { break }
      records = before + [record]
      if change.isEmpty {
        last = records
        ends.append((position, newest))
      }
    }
    if !last.allSatisfy({ $0.isAuthentic(journal: journal) }) { ends.removeLast() }
    (position, newest) = ends.last ?? (marked, markedNewest)
    byteCount = position.byteCount
    let remainsEnd = (bytes[byteCount...].lastIndex { $0 != 0 } ?? byteCount - 1) + 1
    isRecovered = position != marked || remainsEnd > byteCount
    isDamaged = (byteCount...remainsEnd).contains { offset in
      // These checks come first because they are fast and nearly every offset fails them.
      guard !passed.contains(offset), offset + 232 <= bytes.count, bytes[offset + 2] == 0,
        let record = JournalRecord(bytes, at: offset), record.kind < 8, record.isFirst
      else { return false }
      return record.canonicalName(journal: journal) != nil
        && record.content(journal: journal) != nil
    }
  }
}
