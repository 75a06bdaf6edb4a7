import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of a break in the journal: the bytes behind it decide which items can still be read.
@Suite(.onOwnThread) struct BreakTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
  }

  /// Removes a record from a journal in which all records have the shortest length.
  private func takeOut(_ number: Int) throws {
    var journal = try scratch.bytes(of: "journal")
    let start = JournalLayout.start(ofRecord: number)
    journal.removeSubrange(start..<start + JournalLayout.shortRecordByteCount)
    try scratch.overwrite("journal", with: journal)
  }

  /// Makes the chain value of a record wrong; the record still opens.
  private func unchain(_ number: Int) throws {
    let start = JournalLayout.start(ofRecord: number)
    try scratch.flip("journal", at: start + JournalLayout.chainValue)
  }

  @Test func `a removed record makes every item uncertain`() throws {
    try store.put("old", as: "a")
    try store.put("1", as: "b")
    try store.put("new", as: "a")
    try store.put("1", as: "c")
    try takeOut(3)
    let opened = try scratch.open()
    for identifier in ["a", "b", "c", "missing"] {
      #expect(try code { _ = try opened.text(identifier) } == StoreError.corrupt)
    }
  }

  @Test func `only items with a record behind a break are uncertain`() throws {
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

  @Test func `a list across a damaged chain value has every item`() throws {
    for (value, identifier) in [("1", "a"), ("1", "b"), ("2", "b"), ("1", "c")] {
      try store.put(value, as: identifier)
    }
    try unchain(3)
    let listing = try scratch.open().listing()
    #expect(listing.names == (try ["a", "b", "c"].map(name)))
    #expect(listing.damage?.reason.hasSuffix("; no item is missing here") == true)
  }

  @Test func `a list has every item whose name opens in any record, and reports damage`() throws {
    for value in ["1", "2"] { try store.put(value, as: "b") }
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 2) + JournalLayout.name)
    let listing = try scratch.open().listing()
    #expect(listing.names == (try [name("b")]))
    #expect(listing.damage?.reason.hasSuffix("; no item is missing here") == true)
  }

  @Test func `a list reports a missing item if its name opens nowhere, and has no removed item`()
    throws
  {
    for identifier in ["a", "b", "removed"] { try store.put("1", as: identifier) }
    try store.remove(name("removed"))
    for part in [JournalLayout.name, JournalLayout.value] {
      try scratch.flip("journal", at: JournalLayout.start(ofRecord: 2) + part)
    }
    let listing = try scratch.open().listing()
    #expect(listing.names == (try [name("a")]))
    #expect(listing.damage?.code == .corrupt)
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
    let first = JournalLayout.start(ofRecord: 2)..<JournalLayout.start(ofRecord: 3)
    journal.replaceSubrange(first, with: [UInt8](repeating: 0, count: first.count))
    try scratch.overwrite("journal", with: journal)
    // Any byte may be zero, even the last.
    let end = try #require(journal.lastIndex { $0 != 0 }) + 1
    let notices = Notices()
    let opened = try scratch.open(onNotice: notices)
    #expect(notices.all == [.unfinishedWriteDropped(byteCount: end - first.lowerBound)])
    #expect(try opened.verify().findings == [])
    #expect(try opened.texts() == ["a": "old"])
  }

  /// The length of the largest change and the largest reserve.
  private static let maximumRemainsByteCount = (1 << 30) + (32 << 10)

  @Test func `as many bytes as the largest change and reserve take can be an unfinished write`()
    throws
  {
    try store.put("1", as: "a")
    let journal = try scratch.bytes(of: "journal")
    try scratch.overwrite("journal", with: journal + [1])
    let byteCount = journal.count + Self.maximumRemainsByteCount
    #expect(unsafe truncate(scratch.file("journal"), byteCount) == 0)
    #expect(try scratch.open().texts() == ["a": "1"])
  }

  @Test func `more bytes than any change and reserve are damage, and are not searched`() throws {
    try store.put("1", as: "a")
    let byteCount = try scratch.bytes(of: "journal").count + Self.maximumRemainsByteCount + 1
    #expect(unsafe truncate(scratch.file("journal"), byteCount) == 0)
    let disk = FaultyFileSystem()
    let opened = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(try code { _ = try opened.texts() } == StoreError.corrupt)
    #expect(disk.count(.read) < 40)
  }

  /// Returns prefixes of records of a mebibyte, and behind them as many bytes as they say.
  ///
  /// Trying all of them would exceed the limit. Kind, tag and nonce are those of a real record:
  /// they are valid with any lengths.
  private func forged(like record: [UInt8]) -> [UInt8] {
    var prefix = Array(record[..<JournalLayout.name])
    prefix.replaceSubrange(4..<8, with: [16, 0, 16, 0])
    return Array(repeating: prefix, count: 70).joined() + [UInt8](repeating: 1, count: 2 << 20)
  }

  @Test func `behind the mark, more forged lengths than the limit are damage`() throws {
    try store.put("1", as: "a")
    let journal = try scratch.bytes(of: "journal")
    let forged = forged(like: JournalLayout.records(of: journal)[0])
    try scratch.overwrite("journal", with: journal + forged)
    #expect(try code { _ = try scratch.open().texts() } == StoreError.corrupt)
    #expect(try scratch.bytes(of: "journal") == journal + forged)
    // Fewer forged lengths are searched, and dropped.
    let few = forged[(10 * JournalLayout.name)...]
    try scratch.overwrite("journal", with: journal + few)
    #expect(try scratch.open().texts() == ["a": "1"])
  }

  @Test func `behind the mark, forged lengths beyond the end of the file are dropped`()
    throws
  {
    try store.put("1", as: "a")
    let journal = try scratch.bytes(of: "journal")
    // The number is the same as above, but no record can be whole, so none is tried.
    let forged = forged(like: JournalLayout.records(of: journal)[0]).dropLast(2 << 20)
    try scratch.overwrite("journal", with: journal + forged)
    #expect(try scratch.open().texts() == ["a": "1"])
  }

  @Test func `records behind more forged lengths than the limit are not found`() throws {
    try store.put("1", as: "a")
    let journal = try scratch.bytes(of: "journal")
    let (head, records) = (
      journal[..<JournalLayout.headByteCount], JournalLayout.records(of: journal)
    )
    try scratch.overwrite("journal", with: head + forged(like: records[0]) + records[0])
    let report = try scratch.open().verify()
    #expect(report.recordCount == 0)
    #expect(!report.isSound)
  }

  @Test func `an error names the damaged file and the damage`() throws {
    for name in ["a", "b", "c"] { try store.put("1", as: name) }
    let (journal, mark) = (try scratch.bytes(of: "journal"), try scratch.bytes(of: "mark"))
    func expect(_ reason: String, in path: String) throws {
      let found = try error { _ = try scratch.open().text("a") }
      #expect(found.reason == reason)
      #expect(found.store == path)
    }

    let moved = scratch["mark"]
    try FileManager.default.moveItem(atPath: scratch.file("mark"), toPath: moved)
    try expect("the mark is missing", in: scratch.path)
    try FileManager.default.moveItem(atPath: moved, toPath: scratch.file("mark"))
    try scratch.flip("mark", at: 50)
    try expect("the mark was changed", in: scratch.path)
    try scratch.flip("mark", at: 50)

    let end = JournalLayout.start(ofRecord: 3)
    try scratch.overwrite("journal", with: Array(journal[..<end]))
    try expect(
      "the journal is shorter than was confirmed: it breaks off at byte \(end)",
      in: scratch.file("journal"))
    for count in [journal.count - end, 4096] {
      try scratch.overwrite("journal", with: journal[..<end] + Array(repeating: 1, count: count))
      try expect("the journal breaks off at byte \(end)", in: scratch.file("journal"))
    }

    // This mark is from before the journal's last change, so it is not that of a crash.
    try scratch.overwrite("journal", with: journal)
    let opened = try scratch.open()
    try opened.put("2", as: "a")
    try opened.compact()
    try scratch.overwrite("mark", with: mark)
    try expect("the mark is that of another journal", in: scratch.path)
  }
}
