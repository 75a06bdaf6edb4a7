import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestThreads
import Testing

/// What stands behind a break in the journal decides what is told of it.
@Suite(.onOwnThread) struct BreakTests {
  let scratch: Scratch
  let store: SealedFileStore
  /// The shortest record.
  private let recordByteCount = 216

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
  }

  private func removeMark() throws {
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
  }

  /// Takes the record of a number out of the journal, if all are of the shortest sort.
  private func takeOut(_ number: Int) throws {
    var journal = try scratch.bytes(of: "journal")
    let start = 64 + (number - 1) * recordByteCount
    journal.removeSubrange(start..<start + recordByteCount)
    try scratch.overwrite("journal", with: journal)
  }

  /// Makes the chain value of a record wrong, with which it still opens.
  private func unchain(_ number: Int) throws {
    try scratch.flip("journal", at: 64 + (number - 1) * recordByteCount + 40)
  }

  @Test func `without a mark a record that was taken out is missed all the same`() throws {
    try store.put("old", as: "a")
    try store.put("1", as: "b")
    try store.put("new", as: "a")
    try store.put("1", as: "c")
    try removeMark()
    try takeOut(3)
    let opened = try scratch.open()
    #expect(try code { _ = try opened.text("a") } == StoreError.corrupt)
    #expect(try code { _ = try opened.text("b") } == StoreError.corrupt)
  }

  @Test func `of records behind a break only those of their own items are doubted`() throws {
    try store.put("1", as: "a")
    try store.put("1", as: "b")
    try store.put("2", as: "b")
    try unchain(3)
    let opened = try scratch.open()
    #expect(try opened.text("a") == "1")
    #expect(try code { _ = try opened.text("b") } == StoreError.corrupt)
    #expect(try code { _ = try opened.text("c") } == StoreError.corrupt)
    #expect(try opened.verify().damagedItems == [name("b")])
  }

  @Test func `a change that was never confirmed and lost its first record is an unfinished write`()
    throws
  {
    try store.put("old", as: "a")
    let mark = try scratch.bytes(of: "mark")
    try store.apply([
      .put(secret("1"), for: name("b")), .put(secret("2"), for: name("c")),
      .put(secret("3"), for: name("d")),
    ])
    try scratch.overwrite("mark", with: mark)
    var journal = try scratch.bytes(of: "journal")
    let first = 64 + recordByteCount..<64 + 2 * recordByteCount
    journal.replaceSubrange(first, with: [UInt8](repeating: 0, count: recordByteCount))
    try scratch.overwrite("journal", with: journal)
    #expect(try scratch.open().verify().findings.map(\.place) == [.tail])
    #expect(try scratch.open().texts() == ["a": "old"])
  }

  @Test func `a tail that is longer than any change and reserve is damage, and is not searched`()
    throws
  {
    try store.put("1", as: "a")
    let byteCount = try scratch.bytes(of: "journal").count
    #expect(unsafe truncate(scratch.file("journal"), byteCount + (1 << 30) + (32 << 10) + 1) == 0)
    let disk = FaultyFileSystem()
    let opened = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(try code { _ = try opened.texts() } == StoreError.corrupt)
    #expect(disk.count(.read) < 40)
  }

  /// Prefixes of a change with a mebibyte in its record, so that trying them all would cost
  /// more than is allowed, and behind them as much as they say.
  private var forged: [UInt8] {
    var prefix = [UInt8](repeating: 0, count: 48)
    prefix.replaceSubrange(0..<5, with: [40, 0, 16, 0, 6])
    return Array(repeating: prefix, count: 70).joined() + [UInt8](repeating: 1, count: 2 << 20)
  }

  @Test func `a tail with more forged lengths than are tried is damage`() throws {
    try store.put("1", as: "a")
    try scratch.overwrite("journal", with: scratch.bytes(of: "journal") + forged)
    #expect(try code { _ = try scratch.open().texts() } == StoreError.corrupt)
  }

  @Test func `what is behind more forged lengths than are tried is given up`() throws {
    try store.put("1", as: "a")
    let journal = try scratch.bytes(of: "journal")
    try scratch.overwrite("journal", with: journal[..<64] + forged + journal[64...])
    let report = try scratch.open().verify()
    #expect(report.recordCount == 0)
    #expect(!report.isSound)
  }
}
