import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of records of which only the name or only the value opens.
@Suite(.onOwnThread) struct RestoredNameTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  private func flip(_ record: Int, _ offset: Int) throws {
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: record) + offset)
  }

  /// An offset in the sealed name that the chain covers.
  private static let nameTag = JournalLayout.value - 1

  @Test(arguments: [JournalLayout.name, nameTag], [2, 3])
  func `a value whose name does not open is the item's, and gets the name of another record`(
    offset: Int, record: Int
  ) throws {
    let store = try scratch.create()
    for value in ["a1", "a2", "a3"].prefix(record) { try store.put(value, as: "x") }
    try store.put("y", as: "y")
    try flip(record, offset)
    let findings = try scratch.open().verify()
    let found = try #require(findings.findings.first)
    #expect(
      found.description.hasPrefix(
        "the name of record \(record) at byte \(JournalLayout.start(ofRecord: record)), "))
    #expect(found.description.hasSuffix("its value does, and a repair restores the name"))
    #expect(findings.damagedItems == findings.repairableItems)
    let report = try scratch.open().repair()
    #expect(try report.renamedItems == [name("x")])
    #expect(report.isComplete && report.lostRecordCount == 0)
    #expect(try scratch.open().texts() == ["x": "a\(record)", "y": "y"])
    #expect(try scratch.open().verify().isSound)
  }

  @Test func `the name may come from a record whose value does not open, and from a removal`()
    throws
  {
    let store = try scratch.create()
    try store.put("1", as: "x")
    try store.put("2", as: "x")
    try store.put("1", as: "y")
    try store.remove(name("y"))
    try store.put("2", as: "y")
    for (record, offset) in [
      (1, JournalLayout.value), (2, JournalLayout.name), (3, JournalLayout.value),
      (4, JournalLayout.value), (5, JournalLayout.name),
    ] { try flip(record, offset) }
    let report = try scratch.open().repair()
    #expect(try report.renamedItems == [name("x"), name("y")])
    #expect(report.olderItems == [] && report.goneItems == [])
    #expect(try scratch.open().texts() == ["x": "2", "y": "2"])
  }

  @Test(arguments: [JournalLayout.name, nameTag])
  func `a value whose name opens nowhere is kept under a new name`(offset: Int) throws {
    let store = try scratch.create()
    try store.put("x", as: "x")
    try store.put(String(repeating: "y", count: 2 << 20), as: "y")
    try flip(1, offset)
    let report = try scratch.open().repair()
    let name = try #require(report.recoveredItems.first)
    #expect(report.recoveredItems.count == 1 && !report.isComplete && report.isEndConfirmed)
    #expect(name.namespace.service == "recovered")
    #expect(name.identifier.hasSuffix("-byte-\(JournalLayout.headByteCount)"))
    #expect(try report.keptAt?.hasSuffix(name.identifier.split(separator: "-")[1]) == true)
    #expect(try scratch.open().value(for: name).map { $0.copyBytes() } == Array("x".utf8))
    #expect(try scratch.open().text("y")?.count == 2 << 20)
    #expect(try scratch.open().verify().isSound)
  }

  /// Either part proves what the record is.
  @Test(arguments: [JournalLayout.name, nameTag, JournalLayout.value, 231])
  func `a removal of which one part opens is a removal, wherever the chain breaks`(
    offset: Int
  ) throws {
    let store = try scratch.create()
    try store.put("b", as: "before")
    try store.put("1", as: "x")
    try store.remove(name("x"))
    try store.put("a", as: "after")
    try flip(3, offset)
    try flip(1, JournalLayout.chainValue)
    let verified = try scratch.open().verify()
    #expect(!verified.damagedItems.contains(try name("x")))
    let report = try scratch.open().repair()
    #expect(report.isComplete && report.unknownRecordCount == 0)
    #expect(try scratch.open().texts() == ["before": "b", "after": "a"])
  }

  @Test func `only an item without a record behind a lost one may be older`() throws {
    let store = try scratch.create()
    for item in ["a", "b", "c"] { try store.put("1", as: item) }
    try store.put("2", as: "a")
    try store.put("2", as: "b")
    try store.put("2", as: "a")
    try flip(5, JournalLayout.nonce)
    let report = try scratch.open().repair()
    #expect(report.unknownRecordCount == 1)
    #expect(try report.possiblyOlderItems == [name("b"), name("c")])
    #expect(try scratch.open().texts() == ["a": "2", "b": "1", "c": "1"])
  }

  @Test func `an item with any record behind a lost one is not older`() throws {
    let store = try scratch.create()
    for item in ["a", "b", "c", "a", "b", "a"] { try store.put("1", as: item) }
    try flip(4, JournalLayout.nonce)
    let report = try scratch.open().repair()
    #expect(report.unknownRecordCount == 1)
    #expect(try report.possiblyOlderItems == [name("c")])
  }

  @Test func `a record of which the item is known makes no other item older`() throws {
    let store = try scratch.create()
    for item in ["a", "b", "c", "a", "b"] { try store.put("1", as: item) }
    try flip(4, JournalLayout.value)
    let report = try scratch.open().repair()
    #expect(try report.olderItems == [name("a")])
    #expect(report.unknownRecordCount == 0 && report.possiblyOlderItems.isEmpty)
  }

  /// As many numbers are missing as records are lost, but they are others.
  @Test func `where the end is lost and a record before it, any item may be older`() throws {
    let store = try scratch.create()
    for item in ["a", "b"] { try store.put("1", as: item) }
    try store.apply(["c", "d"].map { .put(secret("1"), for: try name($0)) })
    try store.put("2", as: "a")
    try flip(3, JournalLayout.nonce)
    try flip(5, JournalLayout.nonce)
    let report = try scratch.open().repair()
    #expect(try report.possiblyOlderItems == [name("a"), name("b"), name("d")])
    #expect(!report.isComplete)
  }

  @Test func `where the end is lost, any item may be older`() throws {
    let store = try scratch.create()
    for item in ["a", "b", "c"] { try store.put("1", as: item) }
    try flip(3, JournalLayout.nonce)
    let report = try scratch.open().repair()
    #expect(report.unknownRecordCount == 1)
    #expect(try report.possiblyOlderItems == [name("a"), name("b")])
  }

  @Test(arguments: [JournalLayout.name, nameTag])
  func `a list for a migration reports damage, and how many names are missing`(
    offset: Int
  ) throws {
    let store = try scratch.create()
    for value in ["1", "2"] { try store.put(value, as: "x") }
    try store.put("y", as: "y")
    try flip(2, offset)
    let listing = try scratch.open().listing()
    #expect(try listing.names == [name("x"), name("y")])
    let isBroken = offset == Self.nameTag
    let reason = try #require(listing.damage).reason
    #expect(reason.hasSuffix(isBroken ? "may be missing here" : "no item is missing here"))
    guard !isBroken else { return }
    try flip(3, offset)
    #expect(
      try #require(scratch.open().listing().damage).reason
        .hasSuffix("1 item without a readable name is missing here"))
  }
}
