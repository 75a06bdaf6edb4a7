import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of a journal of sixty records in which bits, records and the end are changed.
///
/// The changes are all those that are possible without a key. The mark is not changed, so every
/// change must be detected.
@Suite(.onOwnThread) struct SixtyRecordTests {
  private static let recordCount = 60
  private static let recordByteCount = JournalLayout.shortRecordByteCount

  let scratch: Scratch
  let journal: [UInt8]
  let items: [String: String]
  /// The journal of another continuation of the same store, from the thirtieth record on.
  let fork: [UInt8]
  /// The journal of a store that opens with the same key and was filled in the same way.
  let other: [UInt8]

  init() throws {
    scratch = try Scratch()
    let store = try scratch.create()
    try Self.fill(store, 0..<30, as: "here")
    let files = try RecordedDisk.read(scratch.path)
    try Self.fill(store, 30..<60, as: "fork")
    fork = try scratch.bytes(of: "journal")

    for (name, content) in files { try scratch.overwrite(name, with: content) }
    let again = try scratch.open()
    try Self.fill(again, 30..<60, as: "here")
    journal = try scratch.bytes(of: "journal")
    #expect(journal.count == JournalLayout.start(ofRecord: 1 + Self.recordCount))
    items = try again.texts()

    let path = scratch["other"]
    try Self.fill(SealedFileStore.create(at: path, key: scratch.key), 0..<60, as: "here")
    other = try #require(RecordedDisk.read(path)["journal"])
  }

  /// Makes a record for each number: values of eleven items, every seventh a removal, and every
  /// fifth and sixth together in one change.
  private static func fill(
    _ store: SealedFileStore, _ numbers: Range<Int>, as text: String
  ) throws {
    var changes: [StoreChange] = []
    for number in numbers {
      let name = try name("item \(number % 11)")
      changes.append(
        number % 7 == 6 && number > 11
          ? .remove(name) : .put(secret("\(text) \(number)"), for: name))
      if number % 6 == 4 { continue }
      // Removing what is absent would write nothing.
      try store.apply(changes)
      changes = []
    }
    try store.apply(changes)
  }

  private func record(_ number: Int, of journal: [UInt8]) -> ArraySlice<UInt8> {
    let start = JournalLayout.start(ofRecord: 1 + number)
    return journal[start..<start + Self.recordByteCount]
  }

  /// Replaces the store's journal by one tampered journal after another, in two threads.
  ///
  /// - Returns: The wrong answers of the store.
  private func wrongAnswers<Case: Sendable>(
    _ cases: [Case], _ tamperedJournal: @Sendable @escaping (Case) -> [UInt8]
  ) throws -> [String] {
    let wrong = Locked<[String]>([])
    let files = try RecordedDisk.read(scratch.path)
    try inThreads(2) { thread in
      let path = scratch["copy \(thread)"]
      try RecordedDisk.write(files, to: path)
      let copy = try OverwrittenFile(path + "/journal")
      for number in stride(from: thread, to: cases.count, by: 2) {
        let tampered = tamperedJournal(cases[number])
        try copy.overwrite(with: tampered)
        if let answer = wrongAnswer(at: path, isDetected: tampered != journal) {
          wrong.withLock { $0.append("\(cases[number]): \(answer)") }
        }
      }
    }
    return wrong.value
  }

  private func wrongAnswer(at path: String, isDetected: Bool) -> String? {
    do throws(StoreError) {
      let store = try SealedFileStore.open(at: path, key: scratch.key)
      do throws(StoreError) {
        let found = try store.texts()
        if found != items { return "found \(found)" }
        // The change may be in a part that no item needs: then `verify` must find it.
        return try store.verify().findings.isEmpty == isDetected ? "verify is mistaken" : nil
      } catch let error where error.code == .corrupt {
        return try wrongAnswer(of: store)
      }
    } catch {
      return "\(error)"
    }
  }

  /// Checks item by item in a store that cannot be listed.
  private func wrongAnswer(of store: SealedFileStore) throws(StoreError) -> String? {
    for number in 0..<11 {
      let identifier = "item \(number)"
      do throws(StoreError) {
        let answer = try store.text(identifier)
        if answer != items[identifier] { return "\(identifier) is \(answer ?? "absent")" }
      } catch let error where error.code == .corrupt {
        continue
      }
    }
    return nil
  }

  @Test func `the unchanged store has the expected items`() throws {
    #expect(try wrongAnswers([0]) { _ in journal } == [])
    #expect(items.count > 5 && items.count < 11)
    #expect(fork.count == journal.count && other.count == journal.count)
  }

  @Test func `every flipped bit is detected`() throws {
    // The step is in bits; a small odd step reaches every bit of a byte.
    let step = TestSize.choose(small: 401, medium: 25, large: 1)
    let cases = stride(from: 0, to: journal.count * 8, by: step).map { ($0 / 8, $0 % 8) }
    let wrong = try wrongAnswers(cases) { offset, bit in
      var journal = journal
      journal[offset] ^= 1 << UInt8(bit)
      return journal
    }
    #expect(wrong == [])
  }

  @Test func `every truncation is detected`() throws {
    let lengths = Array(
      stride(from: 0, to: journal.count, by: TestSize.choose(small: 50, medium: 7, large: 1)))
    #expect(try wrongAnswers(lengths) { Array(journal[..<$0]) } == [])
  }

  private static let step = TestSize.choose(small: 64, medium: 8, large: 1)

  /// Pairs of records; at the medium size an eighth of all pairs.
  private static let pairs: [(Int, Int)] = (0..<recordCount).flatMap { first in
    (0..<recordCount).filter { (first + 3 * $0) % step == 0 }.map { (first, $0) }
  }

  @Test func `every exchange of records is detected`() throws {
    let wrong = try wrongAnswers(Self.pairs.filter { $0 < $1 }) { first, second in
      var tampered = Array(journal[..<JournalLayout.headByteCount])
      for number in 0..<Self.recordCount {
        tampered += record(
          number == first ? second : number == second ? first : number, of: journal)
      }
      return tampered
    }
    #expect(wrong == [])
  }

  @Test func `every omission of a run of records is detected`() throws {
    let wrong = try wrongAnswers(Self.pairs.filter { $0 <= $1 }) { first, last in
      var tampered = journal
      let start = JournalLayout.start(ofRecord: 1 + first)
      tampered.removeSubrange(start..<start + (last - first + 1) * Self.recordByteCount)
      return tampered
    }
    #expect(wrong == [])
  }

  @Test func `every repetition of a record elsewhere is detected`() throws {
    // The last record, repeated in its own place, is behind the end and is dropped as the remains
    // of a write.
    let last = Self.recordCount - 1
    let wrong = try wrongAnswers(Self.pairs.filter { $0 != (last, last) }) { number, place in
      var tampered = journal
      tampered.insert(
        contentsOf: record(number, of: journal), at: JournalLayout.start(ofRecord: 1 + place))
      return tampered
    }
    #expect(wrong == [])
  }

  enum Source: CaseIterable, Sendable { case itself, fork, other }

  @Test(arguments: Source.allCases)
  func `every replacement of a record by another is detected`(source: Source) throws {
    let from = [Source.itself: journal, .fork: fork, .other: other][source] ?? []
    let wrong = try wrongAnswers(Self.pairs) { number, place in
      var tampered = journal
      let start = JournalLayout.start(ofRecord: 1 + place)
      tampered.replaceSubrange(
        start..<start + Self.recordByteCount, with: record(number, of: from))
      return tampered
    }
    #expect(wrong == [])
  }

  @Test(arguments: Source.allCases)
  func `every end from another journal is detected`(source: Source) throws {
    let from = [Source.itself: journal, .fork: fork, .other: other][source] ?? []
    let wrong = try wrongAnswers(Self.pairs) { length, start in
      Array(journal[..<JournalLayout.start(ofRecord: 1 + length)])
        + from[JournalLayout.start(ofRecord: 1 + start)...]
    }
    #expect(wrong == [])
  }
}

/// A file that is overwritten repeatedly through one descriptor.
final class OverwrittenFile {
  private let handle: FileHandle

  init(_ path: String) throws {
    handle = try FileHandle(forUpdating: URL(filePath: path))
  }

  deinit {
    try? handle.close()
  }

  func overwrite(with bytes: [UInt8]) throws {
    try handle.truncate(atOffset: UInt64(bytes.count))
    try handle.seek(toOffset: 0)
    try handle.write(contentsOf: Data(bytes))
  }
}
