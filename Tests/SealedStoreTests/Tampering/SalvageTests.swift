import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of a repair of a last change of which only some records exist.
@Suite(.onOwnThread) struct SalvageTests {
  let scratch: Scratch
  private let recordByteCount = JournalLayout.shortRecordByteCount

  /// Makes a store of two items, the first of them damaged, that ends with a change of three items.
  init() throws {
    scratch = try Scratch()
    let store = try scratch.create()
    try store.put("a", as: "a")
    try store.put("b", as: "b")
    try store.apply(["a", "c", "d"].map { .put(secret("new \($0)"), for: try name($0)) })
    try scratch.flip("journal", at: Self.firstValue)
  }

  /// An offset in the first record that the chain does not cover.
  private static let firstValue = JournalLayout.start(ofRecord: 1) + JournalLayout.value

  private func cutLastRecord() throws {
    let journal = try scratch.bytes(of: "journal")
    try scratch.overwrite("journal", with: Array(journal.dropLast(recordByteCount)))
  }

  @Test func `records of a last change that was never finished are not restored`() throws {
    try cutLastRecord()
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
    let report = try scratch.open().repair()
    #expect(report.wasNeeded)
    // Only the damaged record is counted, and no record of the unfinished change.
    #expect(report.lostRecordCount == 1)
    #expect(!report.isEndConfirmed)
    #expect(try scratch.open().texts() == ["b": "b"])
  }

  @Test func `records of a last change that lost only its start are not restored`()
    throws
  {
    let store = try scratch.open()
    _ = try store.repair()
    let mark = try scratch.bytes(of: "mark")
    let start = try scratch.bytes(of: "journal").count
    try store.apply(["a", "e", "f"].map { .put(secret("newest \($0)"), for: try name($0)) })
    try scratch.overwrite("mark", with: mark)
    // Its first record is damaged, and also an earlier record, so that opening does not drop the
    // change.
    try scratch.flip("journal", at: start + JournalLayout.nonce)
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.nonce)
    #expect(try scratch.open().repair().wasNeeded)
    let left = try scratch.open().texts()
    #expect(left.count == 3)
    #expect(left.values.allSatisfy { !$0.hasPrefix("newest") })
  }

  @Test(arguments: [1, 2])
  func `no record of a change that was never finished is restored from behind the mark`(
    count: Int
  ) throws {
    let other = try Scratch()
    let store = try other.create()
    try store.put("a", as: "a")
    try store.put("b", as: "b")
    let (mark, end) = (try other.bytes(of: "mark"), try other.bytes(of: "journal").count)
    try store.apply(["a", "b", "c"].map { .put(secret("new \($0)"), for: try name($0)) })
    let journal = try other.bytes(of: "journal")
    try other.overwrite("journal", with: Array(journal[..<(end + count * recordByteCount)]))
    try other.overwrite("mark", with: mark)
    // With this damage, opening does not drop the change.
    try other.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.chainValue)
    #expect(try other.open().repair().wasNeeded)
    #expect(try other.open().texts() == ["a": "a", "b": "b"])
  }

  @Test(arguments: [3, 4])
  func `without the mark, a last change that lost a record is not restored, and no other is lost`(
    lost: Int
  ) throws {
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: lost) + JournalLayout.nonce)
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
    #expect(try scratch.open().repair().wasNeeded)
    #expect(try scratch.open().texts() == ["b": "b"])
  }

  @Test func `a whole last change is restored even if the change before it lost its end`() throws {
    let store = try scratch.open()
    _ = try store.repair()
    let mark = try scratch.bytes(of: "mark")
    try store.apply(["e", "f", "g"].map { .put(secret("new \($0)"), for: try name($0)) })
    let end = try scratch.bytes(of: "journal").count
    try store.put("h", as: "h")
    try scratch.overwrite("mark", with: mark)
    try scratch.flip("journal", at: end - recordByteCount + JournalLayout.nonce)
    #expect(try scratch.open().repair().wasNeeded)
    #expect(try scratch.open().texts()["h"] == "h")
  }

  @Test func `the remaining records of a confirmed last change are restored`() throws {
    try cutLastRecord()
    let report = try scratch.open().repair()
    #expect(report.lostRecordCount == 2)
    #expect(try scratch.open().texts() == ["a": "new a", "b": "b", "c": "new c"])
  }

  @Test(arguments: [0, 300])
  func `a dropped change is not restored, wherever its bytes are`(
    distance: Int
  ) throws {
    let other = try Scratch()
    let store = try other.create()
    try store.put("1", as: "a")
    let mark = try other.bytes(of: "mark")
    try store.put("2", as: "a")
    let dropped = try other.bytes(of: "journal")[JournalLayout.start(ofRecord: 2)...]
    try other.overwrite("mark", with: mark)
    try other.flip("journal", at: JournalLayout.start(ofRecord: 2) + JournalLayout.value)
    #expect(try other.open().texts() == ["a": "1"])
    // A void change now has the number of the dropped change.
    let journal = try other.bytes(of: "journal")
    let between = [UInt8](repeating: 0xA1, count: distance)
    try other.overwrite("journal", with: journal + between + dropped)
    #expect(try code { _ = try other.open().texts() } == StoreError.corrupt)
    let report = try other.open().repair()
    #expect(report.isEndConfirmed)
    #expect(report.lostRecordCount == 0)
    #expect(try other.open().texts() == ["a": "1"])
  }

  /// The chain authenticates the prefix of the removal, so it cannot be forged.
  @Test func `an item whose removal no longer opens stays removed`() throws {
    try scratch.open().remove(name("b"))
    let journal = try scratch.bytes(of: "journal")
    try scratch.flip("journal", at: journal.count - recordByteCount + JournalLayout.value)
    let report = try scratch.open().repair()
    #expect(report.lostRecordCount == 2)
    #expect(try scratch.open().texts() == ["a": "new a", "c": "new c", "d": "new d"])
  }

  @Test func `an item whose removal is the last record is not reported without the mark`() throws {
    let other = try Scratch()
    let store = try other.create()
    for item in ["a", "b", "c"] { try store.put(item, as: item) }
    try store.remove(name("a"))
    try other.flip("journal", at: JournalLayout.start(ofRecord: 2) + JournalLayout.chainValue)
    try FileManager.default.removeItem(atPath: other.file("mark"))
    let report = try other.open().repair()
    #expect(report.wasNeeded)
    #expect(report.goneItems == [])
    #expect(try other.open().texts() == ["b": "b", "c": "c"])
  }

  @Test func `a store of removals that no longer open is repaired into an empty store`() throws {
    let other = try Scratch()
    let store = try other.create()
    try store.put("a", as: "a")
    try store.remove(name("a"))
    for number in 1...2 {
      try other.flip("journal", at: JournalLayout.start(ofRecord: number) + JournalLayout.value)
    }
    #expect(try other.open().texts() == [:])
    let report = try other.open().repair()
    #expect(report.lostRecordCount == 2)
    #expect(try other.open().verify().findings.filter(\.isDamage) == [])
    #expect(try other.open().texts() == [:])
  }

  /// The offsets are in the sealed value, and in parts whose damage breaks the chain.
  @Test(arguments: [JournalLayout.value, 2, JournalLayout.nonce, 231])
  func `a store of which no value opens is not changed`(offset: Int) throws {
    let other = try Scratch()
    try other.create().put("a", as: "a")
    try other.flip("journal", at: JournalLayout.start(ofRecord: 1) + offset)
    let files = try RecordedDisk.read(other.path)
    #expect(try code { _ = try other.open().repair() } == StoreError.corrupt)
    #expect(try RecordedDisk.read(other.path) == files)
  }

  @Test(arguments: [false, true])
  func `a store is not emptied because its only value does not open`(isCompacted: Bool) throws {
    let other = try Scratch()
    let store = try other.create()
    try store.put("a", as: "a")
    if isCompacted {
      // A compacted journal has no reserve, and ends at its mark.
      try store.compact()
    } else {
      try FileManager.default.removeItem(atPath: other.file("mark"))
    }
    try other.flip("journal", at: Self.firstValue)
    let files = try RecordedDisk.read(other.path)
    #expect(try code { _ = try other.open().repair() } == StoreError.corrupt)
    #expect(try RecordedDisk.read(other.path) == files)
  }

  /// A journal that replaces another has its first change before it gets its name.
  @Test(arguments: [0, 1000], [false, true])
  func `a journal that lost its first change is not changed`(
    zeroCount: Int, hasMark: Bool
  ) throws {
    let other = try Scratch()
    let store = try other.create()
    try store.put("a", as: "a")
    let mark = try other.bytes(of: "mark")
    try store.compact()
    let head = try other.bytes(of: "journal")[..<JournalLayout.headByteCount]
    try other.overwrite("journal", with: head + [UInt8](repeating: 0, count: zeroCount))
    if hasMark {
      // This is the mark of the previous journal, as after a crash.
      try other.overwrite("mark", with: mark)
    } else {
      try FileManager.default.removeItem(atPath: other.file("mark"))
    }
    let files = try RecordedDisk.read(other.path)
    #expect(try code { _ = try other.open().repair() } == StoreError.corrupt)
    #expect(try RecordedDisk.read(other.path) == files)
  }

  @Test func `a new store that never had a change is repaired without its mark`() throws {
    let other = try Scratch()
    _ = try other.create()
    // A power cut during the first write leaves zeros.
    #expect(unsafe truncate(other.file("journal"), 32 << 10) == 0)
    try FileManager.default.removeItem(atPath: other.file("mark"))
    #expect(try other.open().repair().lostRecordCount == 0)
    #expect(try other.open().texts() == [:])
    #expect(try other.open().verify().isSound)
  }

  @Test func `a compacted store without items is repaired even if its void record does not open`()
    throws
  {
    let other = try Scratch()
    let store = try other.create()
    try store.put("a", as: "a")
    try store.remove(name("a"))
    try store.compact()
    try other.flip("journal", at: Self.firstValue)
    try FileManager.default.removeItem(atPath: other.file("mark"))
    #expect(try other.open().repair().wasNeeded)
    #expect(try other.open().texts() == [:])
    #expect(try other.open().verify().isSound)
  }

  @Test func `the records of a compaction count even if the last does not open`() throws {
    let other = try Scratch()
    let store = try other.create()
    for identifier in ["a", "b", "c"] { try store.put(identifier, as: identifier) }
    try store.compact()
    try other.flip("journal", at: JournalLayout.start(ofRecord: 3) + JournalLayout.value)
    try FileManager.default.removeItem(atPath: other.file("mark"))
    let report = try other.open().repair()
    #expect(report.wasNeeded && report.lostRecordCount == 1)
    #expect(try other.open().texts() == ["a": "a", "b": "b"])
  }

  @Test func `the records of a compaction count even if nothing shows where it ends`() throws {
    let other = try Scratch()
    let store = try other.create()
    for identifier in ["a", "b", "c"] { try store.put(identifier, as: identifier) }
    try store.compact()
    let journal = try other.bytes(of: "journal")
    try other.overwrite("journal", with: Array(journal.dropLast(recordByteCount)))
    try FileManager.default.removeItem(atPath: other.file("mark"))
    let report = try other.open().repair()
    #expect(report.wasNeeded && report.lostRecordCount == 0 && !report.isEndConfirmed)
    #expect(try other.open().texts() == ["a": "a", "b": "b"])
  }

  @Test func `the first change of a new store does not count unless it is whole`() throws {
    let other = try Scratch()
    let store = try other.create()
    try store.apply(["a", "b", "c"].map { .put(secret($0), for: try name($0)) })
    let journal = try other.bytes(of: "journal")
    try other.overwrite("journal", with: Array(journal.dropLast(recordByteCount)))
    try FileManager.default.removeItem(atPath: other.file("mark"))
    #expect(try other.open().repair().wasNeeded)
    #expect(try other.open().texts() == [:])
  }

  @Test func `a journal without records is repaired even if its head is damaged`() throws {
    let other = try Scratch()
    _ = try other.create()
    try other.flip("journal", at: 20)
    #expect(try code { _ = try other.open().texts() } == StoreError.corrupt)
    #expect(try other.open().repair().lostRecordCount == 0)
    #expect(try other.open().texts() == [:])
    #expect(try other.open().verify().findings.filter(\.isDamage) == [])
  }

  @Test func `a whole last change is restored even without the mark`() throws {
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
    let report = try scratch.open().repair()
    #expect(report.lostRecordCount == 1)
    #expect(try scratch.open().texts() == ["a": "new a", "b": "b", "c": "new c", "d": "new d"])
  }

  /// The records of a long change are read in portions.
  @Test(arguments: [1, 3000])
  func `a removal in a last change that was never finished has no effect`(putCount: Int) throws {
    let other = try Scratch()
    let store = try other.create()
    try store.put("a", as: "a")
    try store.put("b", as: "b")
    let puts = try (0..<putCount).map { StoreChange.put(secret("c"), for: try name("c \($0)")) }
    try store.apply([.remove(name("a"))] + puts)
    let journal = try other.bytes(of: "journal")
    try other.overwrite("journal", with: Array(journal.dropLast(recordByteCount)))
    try FileManager.default.removeItem(atPath: other.file("mark"))
    let report = try other.open().repair()
    #expect(report.wasNeeded)
    #expect(report.lostRecordCount == 0)
    #expect(try other.open().texts() == ["a": "a", "b": "b"])
  }

  @Test(arguments: [["a"], ["a", "b"]])
  func `the version after a repair is one higher than that of any change in the journal`(
    lastChange: [String]
  ) throws {
    let other = try Scratch()
    let store = try other.create()
    try store.put("1", as: "a")
    let mark = try other.bytes(of: "mark")
    try store.put("2", as: "a")
    try store.apply(lastChange.map { .put(secret("3"), for: try name($0)) })
    // A power cut leaves such a mark, but no crash damages only a chain value.
    try other.overwrite("mark", with: mark)
    let second = JournalLayout.start(ofRecord: 2)
    try other.flip("journal", at: second + JournalLayout.chainValue)
    #expect(try other.open().repair().lostRecordCount == 0)
    let texts = Dictionary(uniqueKeysWithValues: lastChange.map { ($0, "3") })
    #expect(try other.open().texts() == texts)
    #expect(try other.bytes(of: "mark")[24..<32] == [4, 0, 0, 0, 0, 0, 0, 0])
  }
}
