import SessionToolsBase

/// What the format's description makes of a journal and a mark.
struct JournalJudgement {
  /// Whether the head is that of a journal of this store and version.
  private(set) var isUsable = false
  /// Whether what stands there is neither whole nor an unfinished write.
  private(set) var isDamaged = false
  /// What the items are as of the last whole change; `nil` for a record that does not open.
  private(set) var items: [[UInt8]: JournalBuilder.Item?] = [:]

  private struct Position: Equatable {
    var byteCount: Int
    var number: UInt64
    var chain: [UInt8]
  }

  private struct Record {
    let bound: [UInt8]
    let range: Range<Int>

    var flags: UInt8 { bound[4] }
    var number: UInt64 { bound.integer(at: 8, byteCount: 8) }
    var tag: [UInt8] { Array(bound[16...]) }
  }

  private let bytes: [UInt8]

  init(_ bytes: [UInt8], mark: [UInt8]?) {
    self.bytes = bytes
    guard bytes.count >= 64 else { return }
    let head = Array(bytes[..<64])
    guard Array(head[..<32]) == Array(KnownStore.journalHead()[..<32]),
      Primitives.sip(key: KnownStore.chainKey, Array(head[..<48])) == Array(head[48...])
    else { return }
    isUsable = true
    let journal = Array(head[32..<48])
    judge(head, mark.flatMap { Self.position(of: $0, journal: journal) })
    if let mark, Array(mark[..<16]) != journal, KnownStore.successor(of: mark) != journal {
      isDamaged = true
    }
  }

  private static func position(of mark: [UInt8], journal: [UInt8]) -> Position? {
    guard Array(mark[..<16]) == journal else { return nil }
    return Position(
      byteCount: Int(mark.integer(at: 16, byteCount: 8)),
      number: mark.integer(at: 24, byteCount: 8), chain: Array(mark[32..<48]))
  }

  private mutating func judge(_ head: [UInt8], _ mark: Position?) {
    var end = Position(byteCount: 64, number: 0, chain: Array(head[48...]))
    var position = end
    var change: [Record] = []
    var last: (records: [Record], before: Position) = ([], end)
    var isMarkMet = mark.map { $0 == end } ?? true
    while let record = record(at: position.byteCount), record.number == position.number + 1,
      (record.flags & 2 != 0) == change.isEmpty,
      let chain = chain(of: record, after: position.chain)
    {
      position = Position(byteCount: record.range.upperBound, number: record.number, chain: chain)
      change.append(record)
      guard record.flags & 4 != 0 else { continue }
      apply(last.records)
      last = (change, end)
      end = position
      change = []
      if end.byteCount == mark?.byteCount { isMarkMet = end == mark }
    }
    var broken = position.byteCount
    if end.byteCount > mark?.byteCount ?? 0,
      let torn = last.records.first(where: { open($0) == nil })
    {
      end = last.before
      broken = torn.range.lowerBound
    } else {
      apply(last.records)
    }
    // A record that is not where its change says was walked over, or not: either way nothing
    // opens there that a crash leaves.
    isDamaged =
      !isMarkMet || record(at: broken).flatMap(open) != nil
      || startsAnotherChange(behind: end.byteCount)
  }

  private mutating func apply(_ change: [Record]) {
    for record in change {
      items[record.tag] = record.flags & 1 != 0 ? .none : .some(open(record))
    }
  }

  private func startsAnotherChange(behind end: Int) -> Bool {
    guard end + 1 + 216 <= bytes.count else { return false }
    return (end + 1...bytes.count - 216).contains { offset in
      // Quickly, since nearly every offset fails here.
      guard bytes[offset + 4] & 0xFA == 2, let record = record(at: offset) else { return false }
      return open(record) != nil
    }
  }

  private func record(at offset: Int) -> Record? {
    guard offset + 48 <= bytes.count else { return nil }
    let bound = Array(bytes[offset..<offset + 32])
    let byteCount = Int(bound.integer(at: 0, byteCount: 4))
    guard bound[4] < 8, bound[5..<8].allSatisfy({ $0 == 0 }), byteCount >= 168,
      Primitives.padded(byteCount - 40) == byteCount - 40, offset + 48 + byteCount <= bytes.count
    else { return nil }
    return Record(bound: bound, range: offset..<offset + 48 + byteCount)
  }

  private func chain(of record: Record, after chain: [UInt8]) -> [UInt8]? {
    let end = record.range.upperBound
    let value = Primitives.sip(
      key: KnownStore.chainKey, chain + record.bound + bytes[end - 16..<end])
    let start = record.range.lowerBound + 32
    return value == Array(bytes[start..<start + 16]) ? value : nil
  }

  private func open(_ record: Record) -> JournalBuilder.Item? {
    let plaintext = Primitives.open(
      Array(bytes[(record.range.lowerBound + 48)..<record.range.upperBound]),
      key: KnownStore.recordKey, binding: Array(bytes[32..<48]) + record.bound)
    guard let plaintext, let layout = PlaintextTarget.layout(of: plaintext),
      record.flags & 1 == 0 || layout.value.isEmpty,
      let key = StoreKey(canonicalBytes: layout.key)
    else { return nil }
    return JournalBuilder.Item(key: key, value: layout.value)
  }
}
