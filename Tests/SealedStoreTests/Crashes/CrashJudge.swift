import CSessionToolsSodium
import SessionToolsBase
import SessionToolsStoreModel
import SessionToolsStoreTestSupport

/// A judge that determines the exact result of opening any directory that a crash may leave.
///
/// It compares the directory with everything that the life wrote, and asks the model's oracle.
struct CrashJudge: Sendable {
  /// The required result of opening.
  struct Verdict: Sendable {
    /// The items found; `nil` if the store is still damaged.
    let items: [String: String]?
    /// Whether an unmarked change counts.
    let isFinished: Bool
    /// The number of bytes that are dropped.
    let droppedByteCount: Int
  }

  private static let headByteCount = 88
  private static let prefixByteCount = 72
  private static let tagByteCount = 16

  /// A change as it was written.
  private struct Change: Sendable {
    let start: Int
    let bytes: [UInt8]
    /// The offsets of its records; empty if not even one was written in full.
    let records: [Int]
    /// Whether its last record was written to the end.
    let isComplete: Bool

    var end: Int { start + bytes.count }
  }

  /// The items after each operation, by its number; the first entry is the initial state.
  private let states: [[String: String]?]
  private var life = RecordedLife()
  private var heads: [[UInt8]] = []
  private var marks: [[UInt8]] = []
  private var changes: [Change] = []

  private var disk: RecordedDisk
  private var names: [Int: String] = [:]
  private var operation = 0
  /// The offset at which the journal was cut, if nothing has happened since.
  private var cut: Int?

  /// Makes a judge from the steps of a life.
  init(_ initial: RecordedDisk.Content, _ steps: [RecordedStep], states: [[String: String]?]) {
    self.states = states
    disk = RecordedDisk(initial)
    for (position, name) in initial.keys.sorted().enumerated() { names[position + 1] = name }
    if let journal = initial["journal"] {
      begin(RecordedDisk.withoutReserve(journal, mark: initial["mark"] ?? []))
    }
    if let mark = initial["mark"] { note(mark: mark) }
    for step in steps {
      disk.perform(step)
      take(step)
    }
  }

  private mutating func take(_ step: RecordedStep) {
    switch step {
    case .begun(let number):
      operation = number
      cut = nil
    case .create(let name, let file): names[file] = name
    case .remove(let name): names = names.filter { $0.value != name }
    case .rename(let name, let other):
      guard let file = names.first(where: { $0.value == name })?.key else { return }
      names = names.filter { $0.value != other }
      names[file] = other
      let content = disk.newestContent(of: file) ?? []
      if other == "journal" { begin(content) }
      if other == "mark" { note(mark: content) }
    case .write(let file, let offset, let bytes):
      if names[file] == "mark", bytes.count == 64 { note(mark: bytes) }
      guard names[file] == "journal" else { return }
      if offset == 0 { begin(bytes) } else { note(change: bytes, at: offset) }
      cut = nil
    case .truncate(let file, let byteCount):
      cut = names[file] == "journal" ? byteCount : nil
    case .synchronize, .dropUnsynced: cut = nil
    default: break
    }
  }

  /// Notes a journal: its head, and the records behind it as one change.
  private mutating func begin(_ journal: [UInt8]) {
    guard journal.count >= Self.headByteCount else { return }
    let head = Array(journal[..<Self.headByteCount])
    heads.append(head)
    let predecessor = Array(head[56..<72])
    life.journals.append(
      RecordedLife.Journal(
        predecessor: marks.lastIndex { Self.digest($0) == predecessor }, key: 0))
    note(change: Array(journal[Self.headByteCount...]), at: Self.headByteCount)
  }

  private mutating func note(mark: [UInt8]) {
    marks.append(mark)
    guard mark.count == 64, let journal = heads.lastIndex(where: { $0[32..<48] == mark[..<16] })
    else { return life.marks.append(RecordedLife.Mark(journal: nil, end: nil)) }
    let byteCount = mark[16..<24].reversed().reduce(0) { $0 << 8 | Int($1) }
    let end = changes.indices.last {
      life.changes[$0].journal == journal && changes[$0].end == byteCount
    }
    life.marks.append(RecordedLife.Mark(journal: journal, end: end))
  }

  private mutating func note(change bytes: [UInt8], at offset: Int) {
    guard let journal = heads.indices.last, bytes.count >= Self.prefixByteCount else { return }
    let change = Self.change(bytes, at: offset)
    let others = changes.indices.filter { life.changes[$0].journal == journal }
    let isKnown = others.contains {
      changes[$0].start == offset && changes[$0].bytes == change.bytes
    }
    guard !change.bytes.isEmpty, !isKnown else { return }
    let previous = others.last { changes[$0].end == offset }
    let isVoid = cut == offset
    changes.append(change)
    life.changes.append(
      RecordedLife.Change(
        journal: journal, previous: previous,
        state: isVoid ? life.state(at: previous) : operation))
  }

  /// Returns the change in the written bytes, which zeros may follow.
  private static func change(_ bytes: [UInt8], at start: Int) -> Change {
    var records: [Int] = []
    var end = 0
    while let byteCount = recordByteCount(bytes, at: end) {
      guard end + byteCount <= bytes.count else {
        return Change(start: start, bytes: bytes, records: records, isComplete: false)
      }
      records.append(end)
      end += byteCount
    }
    return Change(start: start, bytes: Array(bytes[..<end]), records: records, isComplete: true)
  }

  private static func lengths(_ bytes: [UInt8], at offset: Int) -> (name: Int, value: Int)? {
    guard offset + 8 <= bytes.count else { return nil }
    let word = { (place: Int) in
      bytes[place..<place + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    let name = word(offset)
    return name == 0 ? nil : (name, word(offset + 4))
  }

  private static func recordByteCount(_ bytes: [UInt8], at offset: Int) -> Int? {
    lengths(bytes, at: offset).map { prefixByteCount + $0.name + $0.value }
  }

  private static func digest(_ mark: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 16)
    _ = unsafe crypto_generichash(&digest, digest.count, mark, UInt64(mark.count), nil, 0)
    return digest
  }
}

extension CrashJudge {
  /// Returns the required result of opening a directory, or `nil` for damage.
  func verdict(on content: RecordedDisk.Content) -> Verdict? {
    let bytes = content["journal"] ?? []
    let journal = ByteBuffer(bytes)
    let number = heads.lastIndex { bytes.starts(with: $0) }
    let standings = changes.indices.map { change in
      life.changes[change].journal == number ? standing(of: changes[change], journal) : .absent
    }
    let found = FoundStore(
      journal: number, mark: marks.lastIndex { $0 == content["mark"] }, header: .opens(key: 0),
      standings: standings)
    guard case .state(let recovery) = CommitOracle(life).answer(for: found) else { return nil }
    let end = recovery.end.map { changes[$0].end } ?? Self.headByteCount
    let behind = min(end, bytes.count)..<bytes.count
    return Verdict(
      items: states[recovery.state], isFinished: recovery.marked != recovery.end,
      droppedByteCount: journal.startOfTrailingZeros(in: behind) - behind.lowerBound)
  }

  private func standing(of change: Change, _ journal: ByteBuffer) -> FoundStore.Standing {
    let written = ByteBuffer(change.bytes)
    // The bytes behind the end of the file are missing.
    let byteCount = min(change.end, journal.byteCount) - change.start
    guard byteCount > 0 else { return .absent }
    let isThere = { (part: Range<Int>) in
      part.upperBound <= byteCount
        && journal.isEqual(
          change.start + part.lowerBound..<change.start + part.upperBound,
          ByteBuffer(written.bytes(part)))
    }
    if change.isComplete, isThere(0..<change.bytes.count) { return .whole }
    // The disk writes sectors, and the last one may be cut.
    let borders = [0] + stride(from: 512 - change.start % 512, to: byteCount, by: 512)
    let isAbsent = zip(borders, borders.dropFirst() + [byteCount]).allSatisfy { start, end in
      written.isZero(start..<end) || !isThere(start..<end)
    }
    guard !isAbsent else { return .absent }
    let firstRecordOpens = change.records.first.map { _ in
      isThere(0..<(Self.recordByteCount(change.bytes, at: 0) ?? 0))
    }
    let isChained = change.records.allSatisfy { record in
      guard let (name, value) = Self.lengths(change.bytes, at: record) else { return false }
      let nameEnd = record + Self.prefixByteCount + name
      return isThere(record..<record + Self.prefixByteCount)
        && isThere(nameEnd - Self.tagByteCount..<nameEnd)
        && isThere(nameEnd + value - Self.tagByteCount..<nameEnd + value)
    }
    return change.isComplete && isChained
      ? .tornInside(firstRecordOpens: firstRecordOpens ?? false)
      : .torn(firstRecordOpens: firstRecordOpens ?? false)
  }
}
