import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct RepairTests {
  let store: TamperedStore
  let journal: [UInt8]

  init() throws {
    store = try TamperedStore()
    journal = try #require(store.files["journal"])
  }

  private var scratch: Scratch { store.scratch }

  private var sound: [String: String] { store.truth.compactMapValues { $0 } }

  /// Repairs a store whose journal is damaged, and checks the conditions of every repair.
  private func repair(_ opened: SealedFileStore? = nil) throws -> RepairReport {
    let damaged = FileManager.default.contents(atPath: scratch.file("journal"))
    let opened = try opened ?? scratch.open()
    let report = try opened.repair()
    #expect(report.wasNeeded)
    let keptAt = try #require(report.keptAt)
    #expect(FileManager.default.contents(atPath: keptAt) == damaged)
    let after = try opened.verify()
    #expect(after.findings.allSatisfy { $0.part == .files })
    #expect(after.itemCount == report.itemCount)
    #expect(try scratch.open().names(in: nil).count == report.itemCount)
    #expect(try opened.repair().wasNeeded == false)
    try opened.put("after", as: "after")
    #expect(try scratch.open().text("after") == "after")
    try opened.remove(name("after"))
    return report
  }

  @Test func `repairing an undamaged store does nothing`() throws {
    let opened = try scratch.open()
    let report = try opened.repair()
    #expect(!report.wasNeeded)
    #expect(report.itemCount == 4)
    #expect(report.lostRecordCount == 0)
    #expect(report.keptAt == nil)
    #expect(try RecordedDisk.read(scratch.path) == store.files)
  }

  @Test func `the mark after a crash during a compaction needs no repair`() throws {
    let mark = try scratch.bytes(of: "mark")
    try scratch.open().compact()
    try scratch.overwrite("mark", with: mark)
    let opened = try scratch.open()
    #expect(try opened.verify().findings.map(\.part) == [.mark])
    #expect(try !opened.repair().wasNeeded)
    try opened.put("after", as: "after")
    #expect(try opened.verify().findings.isEmpty)
  }

  @Test func `damage to only a chain value loses nothing`() throws {
    // The sixth record is the first of its item.
    for number in 1...6 {
      try scratch.flip(
        "journal", at: JournalLayout.start(ofRecord: number) + JournalLayout.chainValue)
      let report = try repair()
      #expect(report.lostRecordCount == 0)
      #expect(report.isComplete)
      #expect(try scratch.open().texts() == sound)
      try store.restore("journal")
      try store.restore("mark")
      try FileManager.default.removeItem(atPath: #require(report.keptAt))
    }
  }

  @Test func `records behind a record with a changed length are salvaged`() throws {
    var journal = try scratch.bytes(of: "journal")
    // The first record says that it is as long as the first five, which is a possible length.
    let length = Int(JournalLayout.shortValueByteCount) + 4 * JournalLayout.shortRecordByteCount
    let start = JournalLayout.start(ofRecord: 1) + JournalLayout.valueLength
    for byte in 0..<4 { journal[start + byte] = UInt8(truncatingIfNeeded: length >> (8 * byte)) }
    try scratch.overwrite("journal", with: journal)
    let report = try repair()
    #expect(report.lostRecordCount == 1)
    #expect(try scratch.open().texts() == sound)
  }

  @Test func `an item whose newest record is lost gets its previous value, and this is reported`()
    throws
  {
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 4) + JournalLayout.value)
    let report = try repair()
    #expect(report.lostRecordCount == 1)
    #expect(report.unknownRecordCount == 0)
    #expect(try report.olderItems == [name("a")])
    #expect(report.goneItems == [])
    #expect(!report.isComplete)
    #expect(try scratch.open().texts() == sound.merging(["a": "first of a"]) { $1 })
  }

  /// Neither a sealed part nor the chain confirms what such a record says.
  @Test(arguments: [(offset: 8, bit: 2), (offset: 16, bit: 1), (offset: 17, bit: 1)])
  func `an item whose record has another number, kind or tag is not lost in silence`(
    offset: Int, bit: UInt8
  ) throws {
    let other = try Scratch()
    let store = try other.create()
    for item in ["k1", "k2", "k3"] { try store.put(item, as: item) }
    try other.flip("journal", at: JournalLayout.start(ofRecord: 2) + offset, bit: bit)
    let report = try other.open().repair()
    #expect(report.goneItems.isEmpty && report.unknownRecordCount == 1)
    #expect(!report.isComplete)
    #expect(try other.open().texts() == ["k1": "k1", "k3": "k3"])
  }

  /// What happened to an item whose records are behind a break, and what a repair says of it.
  struct Behind: CustomTestStringConvertible {
    let testDescription: String
    /// The values that are put; `nil` removes the item.
    let values: [String?]
    /// The numbers of the changes whose records do not open.
    let unopened: Set<Int>
    let left: String?
    let (isGone, isOlder): (Bool, Bool)

    init(
      _ description: String, _ values: [String?], unopened: Set<Int>, left: String?,
      isGone: Bool = false, isOlder: Bool = false
    ) {
      (testDescription, self.values, self.unopened, self.left) =
        (description, values, unopened, left)
      (self.isGone, self.isOlder) = (isGone, isOlder)
    }

    static let all = [
      Behind("an older value", ["1", "2"], unopened: [1], left: "2"),
      Behind("the newest value", ["1", "2"], unopened: [2], left: "1", isOlder: true),
      Behind("all values", ["1", "2"], unopened: [1, 2], left: nil, isGone: true),
      Behind("a removal of which only the name opens", ["1", nil], unopened: [2], left: nil),
      Behind("a removed value", ["1", nil], unopened: [1], left: nil),
      Behind("a value and its removal", ["1", nil], unopened: [1, 2], left: nil),
    ]
  }

  @Test(arguments: Behind.all, [true, false])
  func `of an item behind a break is said what became of it`(
    _ item: Behind, hasMark: Bool
  ) throws {
    let other = try Scratch()
    let store = try other.create()
    try store.put("1", as: "before")
    for value in item.values {
      if let value { try store.put(value, as: "item") } else { try store.remove(name("item")) }
    }
    try store.put("1", as: "after")
    try other.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.nonce)
    for number in item.unopened {
      try other.flip("journal", at: JournalLayout.start(ofRecord: number + 1) + JournalLayout.value)
    }
    if !hasMark { try FileManager.default.removeItem(atPath: other.file("mark")) }
    let report = try other.open().repair()
    #expect(report.goneItems == (item.isGone ? [try name("item")] : []))
    #expect(report.olderItems == (item.isOlder ? [try name("item")] : []))
    #expect(report.unknownRecordCount == 1, "the record before")
    #expect(try other.open().texts()["item"] == item.left)
  }

  @Test func `records that were cut off are counted beside one that does not open`() throws {
    let other = try Scratch()
    let store = try other.create()
    for item in ["k1", "k2", "k3"] { try store.put(item, as: item) }
    try store.compact()
    try other.flip("journal", at: JournalLayout.start(ofRecord: 2) + JournalLayout.value)
    let journal = try other.bytes(of: "journal")
    try other.overwrite(
      "journal", with: Array(journal[..<(JournalLayout.start(ofRecord: 3) + 20)]))
    let report = try other.open().repair()
    #expect(report.goneItems.count + report.unnamedItemCount == 1)
    #expect(report.unknownRecordCount == 1)
  }

  @Test func `losing a superseded record changes no value`() throws {
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.value)
    let report = try repair()
    #expect(report.lostRecordCount == 1)
    #expect(report.isComplete)
    #expect(try scratch.open().texts() == sound)
  }

  @Test func `records behind zeros, inserted bytes and missing bytes are salvaged`() throws {
    let second = JournalLayout.start(ofRecord: 2)
    let byteCount = JournalLayout.shortRecordByteCount
    // The bytes that are removed, relative to the start of the second record, and their
    // replacement.
    let harms: [(what: String, taken: Range<Int>, put: [UInt8], lost: Int)] = [
      ("zeros over the record", 0..<byteCount, [UInt8](repeating: 0, count: byteCount), 1),
      ("bytes inserted", 0..<0, [1, 2, 3], 0),
      ("bytes missing", 20..<25, [], 1),
      ("the record dropped", 0..<byteCount, [], 1),
      ("zeros inserted", 0..<0, [UInt8](repeating: 0, count: 5000), 0),
    ]
    for (what, taken, put, lost) in harms {
      var harmed = journal
      harmed.replaceSubrange(second + taken.lowerBound..<second + taken.upperBound, with: put)
      try scratch.overwrite("journal", with: harmed)
      let report = try repair()
      #expect(report.lostRecordCount == lost, "\(what)")
      // The items of the second and third records were put or removed again later.
      #expect(try scratch.open().texts() == sound, "\(what)")
      try FileManager.default.removeItem(atPath: #require(report.keptAt))
      try store.restore("mark")
    }
  }

  @Test func `confirmed changes that were cut off are counted as lost`() throws {
    // The three records of the last change are lost, and half of the long record before it.
    let lost = 3 * JournalLayout.shortRecordByteCount + 100
    try scratch.overwrite("journal", with: Array(journal[..<(journal.count - lost)]))
    let report = try repair()
    // One is counted for each of the two changes, because the mark does not count records.
    #expect(report.lostRecordCount == 2)
    #expect(report.isEndConfirmed)
    #expect(try scratch.open().texts() == ["a": "second of a", "b": "b in a change"])
  }

  @Test(arguments: [8, 20, 36, 50, 60, 75, 87])
  func `a head that is changed anywhere loses no item`(offset: Int) throws {
    // The offsets are in format, store, journal, version, predecessor and chain value.
    try scratch.flip("journal", at: offset)
    let opened = try scratch.open()
    #expect(try code { _ = try opened.names(in: nil) } == StoreError.corrupt)
    #expect(try opened.verify().findings.map(\.part) == [.journal])
    #expect(try repair(opened).lostRecordCount == 0)
    #expect(try scratch.open().texts() == sound)
  }

  @Test func `a changed head loses no item if the mark is that of the previous journal`() throws {
    let mark = try scratch.bytes(of: "mark")
    try scratch.open().compact()
    try scratch.overwrite("mark", with: mark)
    try scratch.flip("journal", at: 20)
    #expect(try repair().lostRecordCount == 0)
    #expect(try scratch.open().texts() == sound)
  }

  @Test func `with a changed head, a last record that does not open is counted as lost`() throws {
    let last = journal.count - JournalLayout.shortRecordByteCount
    try scratch.flip("journal", at: 20)
    try scratch.flip("journal", at: last + JournalLayout.value)
    #expect(try repair().lostRecordCount == 1)
    // It was the newest record of this item, behind its removal.
    #expect(try scratch.open().texts() == sound.filter { $0.key != "b" })
  }

  @Test func `a missing, empty or foreign journal is neither repaired nor removed`()
    throws
  {
    let other = try SealedFileStore.create(at: scratch["other"], key: scratch.key)
    try other.put("foreign", as: "a")
    let foreign = try #require(RecordedDisk.read(scratch["other"])["journal"])
    let (head, zeros) = (Array(journal[..<88]), [UInt8](repeating: 0, count: 5000))
    // A new store has only a head, but here the mark says that there was more.
    let heads = [Array(head.dropLast()), head, head + zeros]
    for content in [[], foreign, zeros] + heads {
      try scratch.overwrite("journal", with: content)
      let before = try RecordedDisk.read(scratch.path)
      #expect(try code { _ = try scratch.open().repair() } == StoreError.corrupt)
      #expect(try RecordedDisk.read(scratch.path) == before)
    }
    try FileManager.default.removeItem(atPath: scratch.file("journal"))
    #expect(try code { _ = try scratch.open().repair() } == StoreError.corrupt)
    #expect(try !scratch.names().contains("journal"))
  }

  @Test func `a store without its mark is repaired, and the report says that its end is unknown`()
    throws
  {
    let opened = try scratch.open()
    try opened.put("new", as: "a")
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
    #expect(try code { _ = try scratch.open().text("a") } == StoreError.corrupt)
    let report = try repair(opened)
    #expect(!report.isEndConfirmed)
    #expect(report.lostRecordCount == 0)
    #expect(try opened.text("a") == "new")
  }

  @Test func `a kept journal does not replace a kept journal that is longer by a hole`() throws {
    // The length is that of one copy operation, so that the hole stays a hole.
    let damaged = journal + [UInt8](repeating: 0xFF, count: (1 << 20) - journal.count)
    try scratch.overwrite("journal", with: damaged)
    #expect(unsafe truncate(scratch.file("journal"), 2 << 20) == 0)
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.chainValue)
    let longer = try #require(scratch.open().repair().keptAt)
    try scratch.overwrite("journal", with: damaged)
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.chainValue)
    let shorter = try #require(scratch.open().repair().keptAt)
    #expect(longer != shorter)
    #expect(try Data(contentsOf: URL(filePath: longer)).count == 2 << 20)
    #expect(try Data(contentsOf: URL(filePath: shorter)).count == 1 << 20)
    #expect(try scratch.open().texts() == sound)
  }

  @Test func `a kept journal does not replace a kept journal with other damage`() throws {
    var kept: [String: Data] = [:]
    for number in 1...2 {
      try scratch.flip(
        "journal", at: JournalLayout.start(ofRecord: number) + JournalLayout.chainValue)
      let damaged = try #require(FileManager.default.contents(atPath: scratch.file("journal")))
      let path = try #require(repair().keptAt)
      kept[path] = damaged
      try store.restore("journal")
      try store.restore("mark")
    }
    #expect(kept.count == 2)
    for (path, damaged) in kept {
      #expect(FileManager.default.contents(atPath: path) == damaged)
    }
  }

  @Test func `a repair does not keep a journal that an interrupted repair kept before`() throws {
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.chainValue)
    let disk = FaultyFileSystem { call in
      call.kind == .rename && call.name == "journal" ? .fail(EIO) : nil
    }
    let interrupted = try scratch.open(StoreEnvironment(fileSystem: disk, repairLease: .zero))
    #expect(try code { _ = try interrupted.repair() } == StoreError.io)
    let kept = try scratch.names().subtracting(storeFiles)
    #expect(kept.count == 1)
    #expect(try repair().lostRecordCount == 0)
    #expect(try scratch.names().subtracting(storeFiles) == kept)
  }

  @Test func `an unfinished write needs no repair`() throws {
    try scratch.overwrite("journal", with: journal + [UInt8](repeating: 3, count: 300))
    let notices = Notices()
    let opened = try scratch.open(onNotice: notices)
    #expect(notices.all == [.unfinishedWriteDropped(byteCount: 300)])
    #expect(try !opened.repair().wasNeeded)
    #expect(try scratch.names() == storeFiles)
    #expect(try scratch.open().texts() == sound)
  }

  @Test func `another open handle works after a repair`() throws {
    let other = try scratch.open()
    _ = try other.contents()
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 4) + JournalLayout.chainValue)
    _ = try repair()
    #expect(store.wrongAnswer(of: other) == nil)
    #expect(try other.text("a") == "second of a")
    try other.put("new", as: "a")
    #expect(try scratch.open().texts()["a"] == "new")
  }

  @Test(arguments: [FaultyFileSystem.Call.Kind.write, .truncate, .synchronize])
  func `a repair without space for the damaged journal leaves no part of it`(
    kind: FaultyFileSystem.Call.Kind
  ) throws {
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 2) + JournalLayout.chainValue)
    let before = try RecordedDisk.read(scratch.path)
    let hasBegun = Locked(false)
    let disk = FaultyFileSystem { call in
      guard call.kind == kind, call.name.hasPrefix("damaged-") else { return nil }
      return hasBegun.withLock { hasBegun in
        defer { hasBegun = true }
        return hasBegun || kind != .write ? .fail(ENOSPC) : .short(100)
      }
    }
    let opened = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(try code { _ = try opened.repair() } == StoreError.noSpace)
    #expect(hasBegun.value)
    #expect(try RecordedDisk.read(scratch.path) == before)
    disk.setRule(nil)
    #expect(try repair(opened).lostRecordCount == 0)
  }

  @Test(arguments: [false, true])
  func `after a repair has returned, no open reader returns earlier values`(
    isUnconfirmed: Bool
  ) throws {
    let disk = FaultyFileSystem()
    let opened = try scratch.open(StoreEnvironment(fileSystem: disk))
    // The reader checks the names when it is opened, and then not for a while.
    let reader = try scratch.open()
    // The files that the reader has open do not change.
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
    #expect(try reader.text("a") == "second of a")
    if isUnconfirmed {
      disk.setRule { $0.kind == .write && $0.name == "mark" ? .fail(EIO) : nil }
    }
    let outcome = try code { _ = try opened.repair() }
    #expect(outcome == (isUnconfirmed ? StoreError.outcomeUnknown : nil))
    disk.setRule(nil)
    try opened.put("after", as: "a")
    #expect(try reader.text("a") == "after")
  }
}
