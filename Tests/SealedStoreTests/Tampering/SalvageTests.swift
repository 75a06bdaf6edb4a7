import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestThreads
import Testing

/// What a repair makes of a last change of which some records are there.
@Suite(.onOwnThread) struct SalvageTests {
  let scratch: Scratch
  private let recordByteCount = JournalLayout.shortRecordByteCount

  /// A store of two items, the first of them damaged, that ends with a change of three.
  init() throws {
    scratch = try Scratch()
    let store = try scratch.create()
    try store.put("a", as: "a")
    try store.put("b", as: "b")
    try store.apply(["a", "c", "d"].map { .put(secret("new \($0)"), for: try name($0)) })
    try scratch.flip("journal", at: Self.firstValue)
  }

  /// In the first record, where the chain does not cover it.
  private static let firstValue = JournalLayout.start(ofRecord: 1) + JournalLayout.value

  private func cutLastRecord() throws {
    let journal = try scratch.bytes(of: "journal")
    try scratch.overwrite("journal", with: Array(journal.dropLast(recordByteCount)))
  }

  @Test func `records of a last change that was never finished do not come back`() throws {
    try cutLastRecord()
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
    let report = try scratch.open().repair()
    #expect(report.wasNeeded)
    // The damaged record, and nothing that the unfinished change would have been.
    #expect(report.lostRecordCount == 1)
    #expect(!report.isEndConfirmed)
    #expect(try scratch.open().texts() == ["b": "b"])
  }

  @Test func `records of a last change that lost only its start do not come back`()
    throws
  {
    let store = try scratch.open()
    _ = try store.repair()
    let mark = try scratch.bytes(of: "mark")
    let start = try scratch.bytes(of: "journal").count
    try store.apply(["a", "e", "f"].map { .put(secret("newest \($0)"), for: try name($0)) })
    try scratch.overwrite("mark", with: mark)
    // Its first record; and damage before, so that no opening drops the change.
    try scratch.flip("journal", at: start + JournalLayout.nonce)
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.nonce)
    #expect(try scratch.open().repair().wasNeeded)
    let left = try scratch.open().texts()
    #expect(left.count == 3)
    #expect(left.values.allSatisfy { !$0.hasPrefix("newest") })
  }

  @Test func `a whole last change comes back though the one before it has lost its end`() throws {
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

  @Test func `what is left of a last change that was confirmed comes back`() throws {
    try cutLastRecord()
    let report = try scratch.open().repair()
    #expect(report.lostRecordCount == 2)
    #expect(try scratch.open().texts() == ["a": "new a", "b": "b", "c": "new c"])
  }

  @Test(arguments: [0, 300])
  func `a change that was dropped does not come back from wherever its bytes stand`(
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
    // A void change has its number now.
    let journal = try other.bytes(of: "journal")
    let between = [UInt8](repeating: 0xA1, count: distance)
    try other.overwrite("journal", with: journal + between + dropped)
    #expect(try code { _ = try other.open().texts() } == StoreError.corrupt)
    let report = try other.open().repair()
    #expect(report.isEndConfirmed)
    #expect(report.lostRecordCount == 0)
    #expect(try other.open().texts() == ["a": "1"])
  }

  /// The chain vouches for its prefix, so nobody can have made it up.
  @Test func `an item whose removal no longer opens stays removed`() throws {
    try scratch.open().remove(name("b"))
    let journal = try scratch.bytes(of: "journal")
    try scratch.flip("journal", at: journal.count - recordByteCount + JournalLayout.value)
    let report = try scratch.open().repair()
    #expect(report.lostRecordCount == 2)
    #expect(try scratch.open().texts() == ["a": "new a", "c": "new c", "d": "new d"])
  }

  @Test func `a store of removals that no longer open is repaired into an empty one`() throws {
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

  /// In its sealed parts, and where the chain breaks.
  @Test(arguments: [JournalLayout.name, JournalLayout.value, 2, JournalLayout.nonce, 231])
  func `a store of which no value opens is left as it is`(offset: Int) throws {
    let other = try Scratch()
    try other.create().put("a", as: "a")
    try other.flip("journal", at: JournalLayout.start(ofRecord: 1) + offset)
    let files = try RecordedDisk.read(other.path)
    #expect(try code { _ = try other.open().repair() } == StoreError.corrupt)
    #expect(try RecordedDisk.read(other.path) == files)
  }

  @Test func `a journal without records is repaired whatever became of its head`() throws {
    let other = try Scratch()
    _ = try other.create()
    try other.flip("journal", at: 20)
    #expect(try code { _ = try other.open().texts() } == StoreError.corrupt)
    #expect(try other.open().repair().lostRecordCount == 0)
    #expect(try other.open().texts() == [:])
    #expect(try other.open().verify().findings.filter(\.isDamage) == [])
  }

  @Test func `a last change that is whole comes back whole, whatever became of the mark`() throws {
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
    let report = try scratch.open().repair()
    #expect(report.lostRecordCount == 1)
    #expect(try scratch.open().texts() == ["a": "new a", "b": "b", "c": "new c", "d": "new d"])
  }

  @Test func `the version after a repair is higher than that of any change it found`() throws {
    let other = try Scratch()
    let store = try other.create()
    try store.put("1", as: "a")
    let mark = try other.bytes(of: "mark")
    try store.put("2", as: "a")
    try store.put("3", as: "a")
    // As a power cut leaves the mark; but no crash hits a chain value alone.
    try other.overwrite("mark", with: mark)
    let second = JournalLayout.start(ofRecord: 2)
    try other.flip("journal", at: second + JournalLayout.chainValue)
    #expect(try other.open().repair().lostRecordCount == 0)
    #expect(try other.open().texts() == ["a": "3"])
    #expect(try other.bytes(of: "mark")[24..<32] == [4, 0, 0, 0, 0, 0, 0, 0])
  }
}
