import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of repairs of stores with changed bytes: what could be read before can be read afterwards,
/// and what is lost is reported.
@Suite(.onOwnThread) struct FlippedRepairTests {
  /// Files of a store, and the right items.
  struct Subject: Sendable {
    let files: MemoryFileSystem.Content
    /// The right values; several where a change was not confirmed yet.
    let truths: [[String: String]]
    let key: RawKey

    func open(_ disk: MemoryFileSystem) throws(StoreError) -> SealedFileStore {
      try SealedFileStore.open(
        at: SplicedLife.path, key: key,
        environment: StoreEnvironment(fileSystem: disk, repairLease: .zero))
    }
  }

  /// The number of checked stores, by what became of them.
  private struct Counts: Sendable {
    var (checked, beyondRepair, repaired, older, renamed, recovered) = (0, 0, 0, 0, 0, 0)

    static func += (total: inout Counts, counts: Counts) {
      total.checked += counts.checked
      total.beyondRepair += counts.beyondRepair
      total.repaired += counts.repaired
      total.older += counts.older
      total.renamed += counts.renamed
      total.recovered += counts.recovered
    }
  }

  /// Changes bytes of the files, repairs the store, and returns the problem, if any.
  private static func wrongRepair(
    of subject: Subject, _ flips: [(name: String, offset: Int, bits: UInt8)],
    _ counts: inout Counts
  ) throws -> String? {
    var files = subject.files
    for flip in flips { files[flip.name]?[flip.offset] ^= flip.bits }
    let disk = try MemoryFileSystem(SplicedLife.path, files)
    counts.checked += 1
    let store = try subject.open(disk)
    let names = Set(subject.truths.flatMap(\.keys)).union(["never"])
    var before: [String: String?] = [:]
    for name in names {
      if let answer = try Self.unlessCorrupt({ () throws(StoreError) in try store.text(name) }) {
        before[name] = .some(answer)
      }
    }
    let isListed = try code { _ = try store.names(in: nil) } == nil
    let listing = try Self.unlessCorrupt({ () throws(StoreError) in try store.listing() })
    if let listing, listing.damage == nil, !isListed { return "its damage is not in a listing" }
    let verified = try store.verify()
    guard let report = try Self.unlessCorrupt({ () throws(StoreError) in try store.repair() })
    else {
      counts.beyondRepair += 1
      return before.values.contains { $0 != nil } ? "it is readable, but not repaired" : nil
    }
    if report.wasNeeded { counts.repaired += 1 }
    if !report.olderItems.isEmpty { counts.older += 1 }
    if !report.renamedItems.isEmpty { counts.renamed += 1 }
    if !report.recoveredItems.isEmpty { counts.recovered += 1 }
    let again = try subject.open(disk)
    let after = try again.texts()
    guard try again.verify().isSound else { return "it is still damaged" }
    for (name, value) in before where after[name] != value {
      // A value that has no name anywhere is kept under another one.
      let isRecovered = report.recoveredItems.contains { after[$0.identifier] == value }
      if !isRecovered {
        return "\(name) was \(value ?? "absent") and is \(after[name] ?? "absent")"
      }
    }
    return silentLoss(subject, after, report) ?? wrongVerification(subject, verified, after)
  }

  private static func unlessCorrupt<Value>(
    _ body: () throws(StoreError) -> Value
  ) throws(StoreError) -> Value? {
    do throws(StoreError) {
      return try body()
    } catch {
      guard error.code == .corrupt else { throw error }
      return nil
    }
  }

  private static func silentLoss(
    _ subject: Subject, _ after: [String: String], _ report: RepairReport
  ) -> String? {
    let reported = Set(
      (report.goneItems + report.olderItems + report.possiblyOlderItems).map(\.identifier))
    for truth in subject.truths {
      let wrong = Set(truth.keys).union(after.keys).filter { truth[$0] != after[$0] }
        .subtracting(report.recoveredItems.map(\.identifier))
      let hasReason =
        wrong.isSubset(of: reported)
        // An item that is gone with its only record cannot be named.
        || wrong.allSatisfy { name in
          reported.contains(name)
            || after[name] == nil
              && report.unnamedItemCount + report.unknownRecordCount + report.recoveredItems.count
                > 0
        } || !report.isEndConfirmed
      if hasReason, wrong.isEmpty || !report.isComplete { return nil }
    }
    return "it has \(after) instead of \(subject.truths), and \(report) does not say so"
  }

  private static func wrongVerification(
    _ subject: Subject, _ verified: VerificationReport, _ after: [String: String]
  ) -> String? {
    guard let truth = subject.truths.last, subject.truths.count == 1 else { return nil }
    let repairable = Set(verified.repairableItems.map(\.identifier))
    for item in verified.damagedItems.map(\.identifier) {
      if repairable.contains(item) {
        if after[item] == nil { return "\(item) is called repairable, and it is gone" }
      } else if let value = truth[item], after[item] == value {
        return "the value of \(item) is called lost, and it is there"
      }
    }
    return nil
  }

  private static let key = RawKey.random()

  /// Makes stores with every kind of record and in every state that a program can leave.
  private static func subjects() throws -> [Subject] {
    var subjects: [Subject] = []
    let changes: [[(String, String?)]] = [
      [("x", "a1")], [("y", "1"), ("z", "1")], [("x", "a2")], [("z", nil)],
      [("y", nil), ("w", "1"), ("y", "2")], [("z", "2")], [("v", "1")], [("v", nil)], [("x", "a3")],
    ]
    for ending in ["", "compact", "compact and put", "die in a rotation", "die in a compaction"] {
      let key = try RawKey(Self.key)
      let disk = MemoryFileSystem()
      let faulty = FaultyFileSystem(in: disk)
      let store = try SealedFileStore.create(
        at: SplicedLife.path, key: key, environment: StoreEnvironment(fileSystem: faulty))
      for change in changes {
        var records: [StoreChange] = []
        for (item, value) in change {
          let item = try name(item)
          records.append(value.map { .put(secret($0), for: item) } ?? .remove(item))
        }
        try store.apply(records)
      }
      switch ending {
      case "compact": try store.compact()
      case "compact and put":
        try store.compact()
        try store.put("a4", as: "x")
        try store.remove(name("w"))
      case "die in a rotation":
        faulty.setRule { $0.kind == .rename && $0.name == "header" ? .fail(5) : nil }
        #expect(throws: Never.self) { try store.rotate() }
      case "die in a compaction":
        faulty.setRule { $0.kind == .write && $0.name == "mark" ? .fail(5) : nil }
        #expect(throws: StoreError.self) { try store.compact() }
      default: break
      }
      faulty.setRule(nil)
      let files = try disk.content(of: SplicedLife.path)
      let copy = try MemoryFileSystem(SplicedLife.path, files)
      let truth = try Subject(files: files, truths: [], key: key).open(copy).texts()
      subjects.append(Subject(files: files, truths: [truth], key: key))
    }
    return subjects
  }

  /// The first change of the journal loses its last record, and the next change, which was never
  /// confirmed, all but its first one: a removal.
  @Test(arguments: [true, false])
  func `a removal that was never confirmed removes nothing in a repair`(_ hasMark: Bool) throws {
    let disk = MemoryFileSystem()
    let faulty = FaultyFileSystem(in: disk)
    let key = try RawKey(Self.key)
    let store = try SealedFileStore.create(
      at: SplicedLife.path, key: key, environment: StoreEnvironment(fileSystem: faulty))
    try store.apply(["a", "b"].map { try .put(secret("1"), for: name($0)) })
    try store.compact()
    let before = try store.texts()
    faulty.setRule { $0.kind == .write && $0.name == "mark" ? .fail(5) : nil }
    #expect(throws: StoreError.self) {
      try store.apply([
        .remove(name("a")), .put(secret("2"), for: name("c")), .put(secret("2"), for: name("d")),
      ])
    }
    var files = try disk.content(of: SplicedLife.path)
    let record = JournalLayout.shortRecordByteCount
    // The values of the second, fourth and fifth record.
    for number in [2, 4, 5] {
      files["journal"]?[JournalLayout.headByteCount + number * record - 1] ^= 1
    }
    if !hasMark { files["mark"]?[0] ^= 1 }
    let damaged = try MemoryFileSystem(SplicedLife.path, files)
    let subject = Subject(files: files, truths: [before], key: key)
    let report = try subject.open(damaged).repair()
    #expect(try subject.open(damaged).texts() == ["a": "1"])
    #expect(report.goneItems == [try name("b")] && report.isEndConfirmed == hasMark, "\(report)")
  }

  @Test func `whichever byte is changed, a repair keeps what could be read`() throws {
    let step = TestSize.choose(small: 97, medium: 13, large: 1)
    let bits = TestSize.choose(small: 1, medium: 1, large: 8)
    let total = Locked(Counts())
    let wrong = Locked<[String]>([])
    let subjects = try Self.subjects()
    try inThreads(2) { thread in
      for (number, subject) in subjects.enumerated() {
        var counts = Counts()
        for name in ["journal", "mark"] {
          let content = subject.files[name] ?? []
          let end = (content.lastIndex { $0 != 0 } ?? 0) + 1
          for offset in stride(from: (number + thread * step) % (2 * step), to: end, by: 2 * step) {
            for bit in 0..<bits {
              let flip = (name, offset, UInt8(1) << ((offset + bit) % 8))
              if let problem = try Self.wrongRepair(of: subject, [flip], &counts) {
                wrong.withLock { $0.append("store \(number), \(flip): \(problem)") }
              }
            }
          }
        }
        total.withLock { [counts] in $0 += counts }
      }
    }
    print("changed bytes:", total.value)
    #expect(wrong.value.prefix(10) == [])
    #expect(total.value.renamed > 0 && total.value.recovered > 0 && total.value.older > 0)
  }

  @Test func `whichever parts of records are changed, a repair keeps what could be read`() throws {
    let lifeCount = TestSize.choose(small: 2, medium: 4, large: 40)
    let storeCount = TestSize.choose(small: 100, medium: 300, large: 1000)
    let total = Locked(Counts())
    let wrong = Locked<[String]>([])
    try inThreads(2) { thread in
      for seed in stride(from: UInt64(thread) + 1, through: UInt64(lifeCount), by: 2) {
        let life = try SplicedLife(seed: seed)
        var choices = SeededGenerator(seed: seed)
        var counts = Counts()
        for number in 0..<storeCount {
          guard let subject = try Self.subject(of: life, &choices) else { continue }
          let flips = Self.flips(in: subject.files["journal"] ?? [], &choices)
          if let problem = try Self.wrongRepair(of: subject, flips, &counts) {
            wrong.withLock { $0.append("life \(seed), store \(number), \(flips): \(problem)") }
          }
        }
        total.withLock { [counts] in $0 += counts }
      }
    }
    print("changed parts of records:", total.value)
    #expect(wrong.value.prefix(10) == [])
    #expect(total.value.renamed > 0 && total.value.older > 0)
  }

  /// Returns the files of a life at any moment at which they were not damaged.
  private static func subject(
    of life: SplicedLife, _ choices: inout SeededGenerator
  ) throws -> Subject? {
    guard let moment = life.moments.randomElement(using: &choices) else { return nil }
    let disk = try MemoryFileSystem(SplicedLife.path, moment.files)
    let truth: [String: String]
    do throws(StoreError) {
      truth = try life.open(disk).texts()
    } catch {
      return nil
    }
    let isRecovered = try disk.content(of: SplicedLife.path) == moment.files
    let states = life.states[max(0, moment.state - 1)...moment.state]
    return Subject(
      files: moment.files, truths: isRecovered ? [truth] : [truth] + states, key: life.key)
  }

  /// Chooses bits in the parts of up to four records.
  private static func flips(
    in journal: [UInt8], _ choices: inout SeededGenerator
  ) -> [(name: String, offset: Int, bits: UInt8)] {
    var starts: [Int] = []
    var start = JournalLayout.headByteCount
    while start + JournalLayout.shortRecordByteCount <= journal.count, journal[start] != 0 {
      starts.append(start)
      let lengths = [journal[start..<start + 4], journal[start + 4..<start + 8]]
      start += lengths.reduce(JournalLayout.name) { sum, length in
        sum + length.reversed().reduce(0) { $0 << 8 | Int($1) }
      }
    }
    let parts = [
      0, JournalLayout.number, JournalLayout.kind, JournalLayout.nonce, JournalLayout.chainValue,
      JournalLayout.name, JournalLayout.name, JournalLayout.name, JournalLayout.value - 1,
      JournalLayout.value, JournalLayout.value, JournalLayout.shortRecordByteCount - 1,
    ]
    return (0..<Int.random(in: 1...4, using: &choices)).compactMap { _ in
      guard let start = starts.randomElement(using: &choices),
        let part = parts.randomElement(using: &choices), start + part < journal.count
      else { return nil }
      return ("journal", start + part, 1 << UInt8.random(in: 0..<8, using: &choices))
    }
  }
}
