import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestThreads
import Testing

/// Records that somebody exchanges behind the back of an open store, which has walked the chain
/// already and does not walk it again.
@Suite(.onOwnThread) struct ReplacedRecordTests {
  @Test func `an older record of the same item in the place of the newest is never taken for it`()
    throws
  {
    let scratch = try Scratch()
    let store = try scratch.create()
    try store.put("older", as: "item")
    try store.put("newer", as: "item")
    // Not read yet: what was read of a small store is kept, and this is not asked for again.
    var journal = try scratch.bytes(of: "journal")
    let (first, second) = (JournalLayout.start(ofRecord: 1), JournalLayout.start(ofRecord: 2))
    #expect(journal.count == JournalLayout.start(ofRecord: 3))
    // Same item, same length, and it opens.
    journal.replaceSubrange(second..., with: journal[first..<second])
    try scratch.overwrite("journal", with: journal)
    #expect(try code { _ = try store.text("item") } == StoreError.corrupt)
    #expect(try code { _ = try store.keys(in: nil) } == StoreError.corrupt)
    #expect(try code { try store.compact() } == StoreError.corrupt)
    #expect(try scratch.bytes(of: "journal") == journal)
  }

  @Test func `a record that says that it is longer than it was is no record`() throws {
    let scratch = try Scratch()
    let store = try scratch.create()
    try store.put("value", as: "item")
    try store.put("value", as: "other")
    // 16 bytes, which is a possible length.
    let length = JournalLayout.start(ofRecord: 1) + JournalLayout.valueLength
    let byteCount = JournalLayout.shortValueByteCount
    try scratch.flip("journal", at: length, bit: byteCount ^ (byteCount + 16))
    #expect(try code { _ = try store.text("item") } == StoreError.corrupt)
    #expect(try code { _ = try store.keys(in: nil) } == StoreError.corrupt)
    #expect(try store.text("other") == "value")
  }

  @Test func `a record that says that it is longer than the file is no record`() throws {
    let scratch = try Scratch()
    let store = try scratch.create()
    try store.put("value", as: "other")
    try store.put("value", as: "item")
    // A mebibyte, which is a possible length.
    let length = JournalLayout.start(ofRecord: 2) + JournalLayout.valueLength
    try scratch.flip("journal", at: length, bit: JournalLayout.shortValueByteCount ^ 16)
    try scratch.flip("journal", at: length + 2, bit: 16)
    #expect(try code { _ = try store.text("item") } == StoreError.corrupt)
    #expect(try code { _ = try store.values(ofFirst: [name("item")]) } == StoreError.corrupt)
    #expect(try code { _ = try store.keys(in: nil) } == StoreError.corrupt)
    #expect(try code { try store.compact() } == StoreError.corrupt)
    #expect(try store.text("other") == "value")
    #expect(try store.values(ofFirst: [name("other")]) == [secret("value")])
  }
}
