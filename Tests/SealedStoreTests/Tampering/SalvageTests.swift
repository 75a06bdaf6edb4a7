import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestThreads
import Testing

/// What a repair makes of a last change of which some records are there.
@Suite(.onOwnThread) struct SalvageTests {
  let scratch: Scratch
  private let recordByteCount = 216

  /// A store of two items, the first of them damaged, that ends with a change of three.
  init() throws {
    scratch = try Scratch()
    let store = try scratch.create()
    try store.put("a", as: "a")
    try store.put("b", as: "b")
    try store.apply(["a", "c", "d"].map { .put(secret("new \($0)"), for: try name($0)) })
    try scratch.flip("journal", at: 64 + 60)
  }

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
    #expect(report.lostRecordCount >= 1)
    #expect(try scratch.open().texts() == ["b": "b"])
  }

  @Test func `records of a last change of which only the start was not written do not come back`()
    throws
  {
    let store = try scratch.open()
    _ = try store.repair()
    let mark = try scratch.bytes(of: "mark")
    let start = try scratch.bytes(of: "journal").count
    try store.apply(["a", "e", "f"].map { .put(secret("newest \($0)"), for: try name($0)) })
    try scratch.overwrite("mark", with: mark)
    // The flags of its first record, which are written last; and damage before.
    let flags = try scratch.bytes(of: "journal")[start + 4]
    for bit in [1, 2, 4] as [UInt8] where flags & bit != 0 {
      try scratch.flip("journal", at: start + 4, bit: bit)
    }
    try scratch.flip("journal", at: 64 + 60)
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
    try scratch.flip("journal", at: end - recordByteCount + 60)
    #expect(try scratch.open().repair().wasNeeded)
    #expect(try scratch.open().texts()["h"] == "h")
  }

  @Test func `what is left of a last change that was confirmed comes back`() throws {
    try cutLastRecord()
    let report = try scratch.open().repair()
    #expect(report.lostRecordCount == 2)
    #expect(try scratch.open().texts() == ["a": "new a", "b": "b", "c": "new c"])
  }

  /// The chain vouches for its prefix, so nobody can have made it up.
  @Test func `an item whose removal no longer opens stays removed`() throws {
    try scratch.open().remove(name("b"))
    let journal = try scratch.bytes(of: "journal")
    try scratch.flip("journal", at: journal.count - recordByteCount + 60)
    let report = try scratch.open().repair()
    #expect(report.lostRecordCount == 2)
    #expect(try scratch.open().texts() == ["a": "new a", "c": "new c", "d": "new d"])
  }

  @Test func `a store of removals that no longer open is repaired into an empty one`() throws {
    let other = try Scratch()
    let store = try other.create()
    try store.put("a", as: "a")
    try store.remove(name("a"))
    for number in 0..<2 { try other.flip("journal", at: 64 + number * recordByteCount + 60) }
    #expect(try other.open().texts() == [:])
    let report = try other.open().repair()
    #expect(report.lostRecordCount == 2)
    #expect(try other.open().verify().findings.filter(\.isDamage) == [])
    #expect(try other.open().texts() == [:])
  }

  /// In its sealed part, and where the chain breaks.
  @Test(arguments: [60, 2, 213])
  func `a store of which no value opens is left as it is`(offset: Int) throws {
    let other = try Scratch()
    try other.create().put("a", as: "a")
    try other.flip("journal", at: 64 + offset)
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
}
