import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of an attacker without a key who makes stores out of pieces of a store's former files.
///
/// The result must be an error or a former state; with the newest mark, the newest state.
@Suite(.onOwnThread) struct SpliceTests {
  private static let spliceCount = TestSize.choose(small: 400, medium: 4000, large: 400_000)
  /// The number of lives; the stores are made from the pieces of one life each.
  private static let lifeCount = TestSize.choose(small: 2, medium: 4, large: 40)

  /// The number of stores that were made, and their results.
  private struct Counts: Sendable {
    var made = 0
    var opened = 0
    var listed = 0
    var newest = 0
  }

  /// Makes stores from the pieces of several lives, in two threads.
  ///
  /// - Parameter check: A closure that returns the problem of a store, if any, and counts its
  ///   result.
  /// - Returns: The total counts.
  /// - Throws: Any error that the check throws.
  private func splice(
    _ check:
      @escaping @Sendable (SplicedLife, inout Splicer, inout Counts) throws -> String?
  ) throws -> Counts {
    let total = Locked(Counts())
    let wrong = Locked<[String]>([])
    try inThreads(2) { thread in
      for seed in stride(from: UInt64(thread) + 1, through: UInt64(Self.lifeCount), by: 2) {
        let life = try SplicedLife(seed: seed)
        var counts = Counts()
        for number in 0..<Self.spliceCount / Self.lifeCount {
          var splicer = Splicer(life, seed: seed << 32 | UInt64(number))
          counts.made += 1
          if let answer = try check(life, &splicer, &counts) {
            wrong.withLock { $0.append("life \(seed), store \(number): \(answer)") }
          }
        }
        total.withLock { [counts] total in
          total.made += counts.made
          total.opened += counts.opened
          total.listed += counts.listed
          total.newest += counts.newest
        }
      }
    }
    #expect(wrong.value.prefix(10) == [])
    return total.value
  }

  /// Reads a store's items, and returns the states that match the answers.
  private static func answers(
    of store: SealedFileStore, _ life: SplicedLife
  ) throws(StoreError) -> (states: [Int], isListed: Bool) {
    var answers: [String: String?] = [:]
    for name in SplicedLife.names {
      do throws(StoreError) {
        answers[name] = .some(try store.text(name))
      } catch let error where error.code == .corrupt {
        continue
      }
    }
    var texts: [String: String]?
    do throws(StoreError) {
      texts = try store.texts().filter { $0.key != Self.otherName }
    } catch let error where error.code == .corrupt {
      // Some items may still be readable.
    }
    let states = life.states.indices.filter { number in
      let state = life.states[number]
      return texts.map { $0 == state } ?? answers.allSatisfy { state[$0.key] == $0.value }
        && answers.allSatisfy { state[$0.key] == $0.value }
    }
    return (states, texts != nil)
  }

  @Test func `a store made of pieces is in a former state or is refused`() throws {
    let counts = try splice { life, splicer, counts in
      let files = splicer.files()
      let disk = try MemoryFileSystem(SplicedLife.path, files)
      let store: SealedFileStore
      do throws(StoreError) {
        store = try life.open(disk)
      } catch {
        return error.code == .corrupt ? nil : "opening: \(error)"
      }
      counts.opened += 1
      let (states, isListed) = try Self.answers(of: store, life)
      guard !states.isEmpty else { return "it has items that it never had" }
      let isNewestMark = files["mark"] == life.moments.last?.files["mark"]
      if isNewestMark, !states.contains(life.states.count - 1) {
        return "it has the items of an earlier state"
      }
      guard isListed else { return nil }
      counts.listed += 1
      if isNewestMark { counts.newest += 1 }
      return try Self.wrongWriting(store, life, isNewestMark: isNewestMark)
    }
    print(
      "spliced \(counts.made) stores: \(counts.opened) open, \(counts.listed) are listed,",
      "\(counts.newest) of them with the newest mark")
    #expect(counts.made >= Self.spliceCount)
    // Otherwise nothing would be tested.
    #expect(counts.listed > counts.made / 20)
    #expect(counts.newest > 0)
  }

  /// The name of the item that another store puts when it continues from the spliced files.
  private static let otherName = "other"

  /// Lets another store write to the files, if it can.
  ///
  /// It does not write if the files have a different journal than the open one, because only the
  /// versions of two journals can be compared.
  private static func goOn(
    _ disk: MemoryFileSystem, _ life: SplicedLife, as moment: SplicedLife.Moment, count: Int
  ) throws {
    let files = try disk.content(of: SplicedLife.path)
    guard Self.journalIdentifier(files) == Self.journalIdentifier(moment.files) else { return }
    do throws(StoreError) {
      let other = try life.open(disk)
      for number in 0..<count { try other.put("\(number)", as: otherName) }
    } catch {
      // The other store refuses these files.
      #expect(error.code == .corrupt)
    }
  }

  private static func journalIdentifier(_ files: MemoryFileSystem.Content) -> [UInt8] {
    Array((files["journal"] ?? []).prefix(48).dropFirst(32))
  }

  /// Changes a store that was listed, and returns the problem of the result, if any.
  private static func wrongWriting(
    _ store: SealedFileStore, _ life: SplicedLife, isNewestMark: Bool
  ) throws -> String? {
    var texts = try store.texts()
    do throws(StoreError) {
      try store.put("new", as: SplicedLife.names[0])
    } catch {
      return error.code == .corrupt ? nil : "writing: \(error)"
    }
    texts[SplicedLife.names[0]] = "new"
    return try store.texts() == texts ? nil : "a change changed other items"
  }

  @Test func `files that are spliced under an open store never give an earlier state`() throws {
    let counts = try splice { life, splicer, counts in
      guard let moment = life.moments.randomElement(using: &splicer.choices) else { return nil }
      let disk = try MemoryFileSystem(SplicedLife.path, moment.files)
      let store: SealedFileStore
      do throws(StoreError) {
        store = try life.open(disk)
      } catch {
        // The store was damaged at this moment, before it was repaired.
        return error.code == .corrupt ? nil : "opening: \(error)"
      }
      counts.opened += 1
      let before = try Self.answers(of: store, life)
      guard before.isListed, let first = before.states.first else { return nil }
      let isRenamed = Bool.random(using: &splicer.choices)
      for (name, content) in splicer.files().sorted(by: { $0.key < $1.key }) {
        try disk.overwrite(name, in: SplicedLife.path, with: content, isRenamed: isRenamed)
      }
      let count = Int.random(in: -8...12, using: &splicer.choices)
      try Self.goOn(disk, life, as: moment, count: max(0, count))
      var after = try Self.answers(of: store, life)
      // A reader looks after a tenth of a second whether other files have the names, which may fall
      // between two of these reads; it happens once, because nothing else is changed.
      if after.states.isEmpty { after = try Self.answers(of: store, life) }
      guard let last = after.states.last else { return "it has items that it never had" }
      if last < first { return "it has the items of an earlier state" }
      if after.isListed { counts.listed += 1 }
      var texts: [String: String] = [:]
      do throws(StoreError) {
        try store.put("new", as: SplicedLife.names[0])
        texts = try store.texts()
      } catch {
        // A store that has read a journal checks only its end before a change.
        return error.code == .corrupt ? nil : "writing: \(error)"
      }
      texts[SplicedLife.names[0]] = nil
      texts[Self.otherName] = nil
      let isLater = life.states[first...].contains { state in
        state.filter { $0.key != SplicedLife.names[0] } == texts
      }
      return isLater ? nil : "a change went to an older state"
    }
    print(
      "spliced \(counts.made) stores under \(counts.opened) open ones:",
      "\(counts.listed) are listed")
    #expect(counts.listed > counts.made / 20)
  }
}

/// A generator of a store's files out of pieces.
struct Splicer {
  private let life: SplicedLife
  var choices: SeededGenerator

  init(_ life: SplicedLife, seed: UInt64) {
    self.life = life
    choices = SeededGenerator(seed: seed)
  }

  /// Returns true with a probability in percent.
  private mutating func happens(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &choices) < percent
  }

  /// Returns a former content of a file, usually from the given moment.
  private mutating func content(
    of name: String, at moment: SplicedLife.Moment, elsewhere percent: Int
  ) -> [UInt8]? {
    guard happens(percent) else { return moment.files[name] }
    return life.moments.randomElement(using: &choices)?.files[name]
  }

  /// Returns the files of a store.
  mutating func files() -> MemoryFileSystem.Content {
    // The newest files are chosen more often: with their mark no other state may pass.
    let moments = happens(30) ? life.moments.suffix(2) : life.moments[...]
    guard let moment = moments.randomElement(using: &choices) else { return [:] }
    var files = moment.files
    files["header"] = content(of: "header", at: moment, elsewhere: 10)
    files["header.copy"] = content(of: "header.copy", at: moment, elsewhere: 10)
    files["header.next"] = content(of: "header.next", at: moment, elsewhere: 5)
    files["mark"] = mark(at: moment)
    files["journal"] = files["journal"].map { journal($0) }
    return files.compactMapValues(\.self)
  }

  private mutating func mark(at moment: SplicedLife.Moment) -> [UInt8]? {
    switch Int.random(in: 0..<20, using: &choices) {
    case 0: return nil
    case 1:
      // Halves of two marks.
      let other = life.moments.randomElement(using: &choices)?.files["mark"] ?? []
      return (moment.files["mark"] ?? []).prefix(32) + other.suffix(32)
    case 2..<8: return life.moments.randomElement(using: &choices)?.files["mark"]
    case 8..<11: return life.moments.last?.files["mark"]
    default: return moment.files["mark"]
    }
  }

  /// Returns a journal in which some sectors are replaced and which may be cut.
  private mutating func journal(_ original: [UInt8]) -> [UInt8] {
    var journal = original
    let others = life.moments.compactMap { $0.files["journal"] }
    for _ in 0..<[0, 0, 0, 0, 1, 1, 2, 4][Int.random(in: 0..<8, using: &choices)] {
      guard let other = others.randomElement(using: &choices) else { break }
      replace(in: &journal, from: other)
    }
    if happens(35) { journal = Array(journal.prefix(cut(of: journal))) }
    if happens(50), journal.count < 32 << 10 {
      journal += [UInt8](repeating: 0, count: (32 << 10) - journal.count)
    }
    return journal
  }

  /// Zeros a sector, or replaces a sector, a record or the rest with that of another journal.
  private mutating func replace(in journal: inout [UInt8], from other: [UInt8]) {
    let sector = 512
    switch Int.random(in: 0..<6, using: &choices) {
    case 0:
      let start = offset(in: journal) / sector * sector
      let end = min(start + sector, journal.count)
      journal.replaceSubrange(
        start..<end, with: [UInt8](repeating: 0, count: end - start))
    case 1, 2:
      let start = offset(in: journal) / sector * sector
      let end = min(start + sector, journal.count, other.count)
      if start < end { journal.replaceSubrange(start..<end, with: other[start..<end]) }
    case 3:
      let (target, source) = (offset(in: journal), offset(in: other))
      let count = min(232, journal.count - target, other.count - source)
      journal.replaceSubrange(target..<target + count, with: other[source..<source + count])
    case 4:
      let start = min(offset(in: journal), other.count)
      journal = Array(journal[..<start] + other[start...])
    default:
      journal = Array(journal[..<offset(in: journal)] + other[offset(in: other)...])
    }
  }

  /// Returns the start of a record, or any offset, in front of the reserve.
  private mutating func offset(in journal: [UInt8]) -> Int {
    let end = (journal.lastIndex { $0 != 0 } ?? 0) + 1
    guard happens(70) else { return min(Int.random(in: 0..<end, using: &choices), journal.count) }
    var starts: [Int] = []
    var start = JournalLayout.headByteCount
    while start + JournalLayout.shortRecordByteCount <= end {
      starts.append(start)
      let lengths = [journal[start..<start + 4], journal[start + 4..<start + 8]]
      start += lengths.reduce(JournalLayout.name) { sum, length in
        sum + length.reversed().reduce(0) { $0 << 8 | Int($1) }
      }
    }
    return starts.randomElement(using: &choices) ?? 0
  }

  private mutating func cut(of journal: [UInt8]) -> Int {
    happens(10) ? offset(in: journal) / 512 * 512 : offset(in: journal)
  }
}
