import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of records that are replaced in an open store.
///
/// The store has already walked the chain and does not walk it again.
@Suite(.onOwnThread) struct ReplacedRecordTests {
  /// Replaces a record by a copy of another; all must have the shortest length.
  ///
  /// - Returns: The changed journal.
  private func replace(
    _ number: Int, by other: Int, in scratch: Scratch
  ) throws -> [UInt8] {
    var journal = try scratch.bytes(of: "journal")
    let copy = JournalLayout.records(of: journal)[other - 1]
    let start = JournalLayout.start(ofRecord: number)
    #expect(copy.count == JournalLayout.shortRecordByteCount)
    journal.replaceSubrange(start..<start + copy.count, with: copy)
    try scratch.overwrite("journal", with: journal)
    return journal
  }

  @Test func `an older record in the place of the newest of its item is never used`()
    throws
  {
    let scratch = try Scratch()
    let store = try scratch.create()
    try store.put("older", as: "item")
    try store.put("newer", as: "item")
    // The item was not read before: a small store keeps records that were read, and does not reread
    // them. The other record is of the same item, has the same length, and opens.
    let journal = try replace(2, by: 1, in: scratch)
    #expect(try code { _ = try store.text("item") } == StoreError.corrupt)
    #expect(try code { _ = try store.names(in: nil) } == StoreError.corrupt)
    #expect(try code { try store.compact() } == StoreError.corrupt)
    #expect(try scratch.bytes(of: "journal") == journal)
  }

  @Test func `an older record in the place of the newest is not copied to a new journal`() throws {
    let scratch = try Scratch()
    let store = try scratch.create()
    try store.put("older", as: "item")
    try store.put("newer", as: "item")
    // The last record is checked before a journal is read, and it is unchanged here.
    try store.put("x", as: "last")
    let journal = try replace(2, by: 1, in: scratch)
    #expect(try code { try store.compact() } == StoreError.corrupt)
    #expect(try code { try store.rotate() } == StoreError.corrupt)
    #expect(try code { _ = try store.values(ofFirst: [name("item")]) } == StoreError.corrupt)
    #expect(try code { _ = try store.text("item") } == StoreError.corrupt)
    #expect(try scratch.bytes(of: "journal") == journal)
    #expect(try scratch.names() == storeFiles)
  }

  @Test func `the value of one item is never returned for another with a similar record`() throws {
    let scratch = try Scratch()
    let store = try scratch.create(StoreEnvironment(random: AlikeNonces()))
    try store.put("one", as: "a")
    try store.put("two", as: "b")
    try store.put("x", as: "c")
    let journal = try replace(2, by: 1, in: scratch)
    #expect(try code { _ = try store.text("b") } == StoreError.corrupt)
    #expect(try code { _ = try store.values(ofFirst: [name("b")]) } == StoreError.corrupt)
    #expect(try code { _ = try store.names(in: nil) } == StoreError.corrupt)
    #expect(try code { try store.compact() } == StoreError.corrupt)
    #expect(try scratch.bytes(of: "journal") == journal)
    #expect(try store.text("a") == "one")
  }

  @Test func `a removal in the place of a value is never read as an empty value`() throws {
    let scratch = try Scratch()
    let store = try scratch.create(StoreEnvironment(random: AlikeNonces()))
    try store.put("1", as: "a")
    try store.remove(name("a"))
    try store.put("2", as: "a")
    try store.put("x", as: "c")
    let journal = try replace(3, by: 2, in: scratch)
    #expect(try code { _ = try store.text("a") } == StoreError.corrupt)
    #expect(try code { _ = try store.values(ofFirst: [name("a")]) } == StoreError.corrupt)
    #expect(try code { try store.compact() } == StoreError.corrupt)
    #expect(try scratch.bytes(of: "journal") == journal)
  }

  @Test func `a record with a length that was increased is not a record`() throws {
    let scratch = try Scratch()
    let store = try scratch.create()
    try store.put("value", as: "item")
    try store.put("value", as: "other")
    // The length is 16 bytes larger, which is possible.
    let length = JournalLayout.start(ofRecord: 1) + JournalLayout.valueLength
    let byteCount = JournalLayout.shortValueByteCount
    try scratch.flip("journal", at: length, bit: byteCount ^ (byteCount + 16))
    #expect(try code { _ = try store.text("item") } == StoreError.corrupt)
    #expect(try code { _ = try store.names(in: nil) } == StoreError.corrupt)
    #expect(try store.text("other") == "value")
  }

  @Test func `a record with a length beyond the end of the file is not a record`() throws {
    let scratch = try Scratch()
    let store = try scratch.create()
    try store.put("value", as: "other")
    try store.put("value", as: "item")
    // The length is a mebibyte, which is possible.
    let length = JournalLayout.start(ofRecord: 2) + JournalLayout.valueLength
    try scratch.flip("journal", at: length, bit: JournalLayout.shortValueByteCount ^ 16)
    try scratch.flip("journal", at: length + 2, bit: 16)
    #expect(try code { _ = try store.text("item") } == StoreError.corrupt)
    #expect(try code { _ = try store.values(ofFirst: [name("item")]) } == StoreError.corrupt)
    #expect(try code { _ = try store.names(in: nil) } == StoreError.corrupt)
    #expect(try code { try store.compact() } == StoreError.corrupt)
    #expect(try store.text("other") == "value")
    #expect(try store.values(ofFirst: [name("other")]) == [secret("value")])
  }
}

/// A source of random nonces that all begin with the same four bytes.
///
/// An open store keeps only these bytes of a nonce: of 100,000 records, one pair may be like that.
private struct AlikeNonces: RandomSource {
  private static let byteCount = 24
  private static let start: [UInt8] = [1, 2, 3, 4]

  func fill(_ buffer: ByteBuffer, _ range: Range<Int>) {
    SystemRandomSource().fill(buffer, range)
    if range.count == Self.byteCount { buffer.copy(Self.start, to: range.lowerBound) }
  }
}
