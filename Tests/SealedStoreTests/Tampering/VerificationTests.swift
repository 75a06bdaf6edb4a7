import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct VerificationTests {
  let store: TamperedStore

  init() throws {
    store = try TamperedStore()
  }

  private var scratch: Scratch { store.scratch }

  private func parts() throws -> [VerificationReport.Part] {
    try scratch.open().verify().findings.map(\.part)
  }

  /// An offset in the newest record of "a" that the chain does not cover.
  private static let valueOfFourth = JournalLayout.start(ofRecord: 4) + JournalLayout.value

  @Test func `an undamaged store has no findings, and its numbers are right`() throws {
    let report = try scratch.open().verify()
    #expect(report.findings == [])
    #expect(report.isSound)
    #expect(report.damagedItems == [])
    #expect(report.itemCount == 4)
    #expect(report.recordCount == 9)
    #expect(report.journalByteCount == store.files["journal"]?.count)
    #expect(report.liveByteCount < report.journalByteCount)
  }

  @Test func `a changed record is reported with its place, its number and its item`() throws {
    // The fourth record is the newest of "a"; the first record still reveals its item.
    try scratch.flip("journal", at: Self.valueOfFourth)
    let report = try scratch.open().verify()
    #expect(!report.isSound)
    #expect(report.findings.map(\.part) == [.journal])
    #expect(report.damagedItems == [try name("a")])
    let description = try #require(report.findings.first?.description)
    #expect(description.contains("record 4 at byte \(JournalLayout.start(ofRecord: 4))"))
    #expect(description.contains("newest value of a of com.example.test"))
  }

  @Test func `damage to a confirmed last record affects no other item`() throws {
    let last = try #require(store.files["journal"]).count - JournalLayout.shortRecordByteCount
    try scratch.flip("journal", at: last + JournalLayout.value)
    let opened = try scratch.open()
    #expect(try code { _ = try opened.text("b") } == StoreError.corrupt)
    #expect(try opened.text("a") == "second of a")
    #expect(try opened.verify().findings.map(\.part) == [.journal])
    #expect(try opened.verify().damagedItems == [name("b")])
  }

  @Test func `bytes with a kind that no writer makes are not a record`() throws {
    // The record began a change of several records; its kind is now only an unknown bit.
    let second = JournalLayout.start(ofRecord: 2)
    try scratch.flip("journal", at: second + JournalLayout.kind, bit: 2 ^ 8)
    let findings = try scratch.open().verify().findings.map(\.description)
    #expect(
      findings.first
        == "bytes \(second) to \(JournalLayout.start(ofRecord: 3) - 1) do not open as a record")
  }

  @Test func `bytes with an impossible length are not a record, even in a long journal`() throws {
    var journal = try #require(store.files["journal"])
    // The length is half a mebibyte more than that of the largest value.
    let length = UInt32(16 + 34 << 19)
    let second = JournalLayout.start(ofRecord: 2)
    for byte in 0..<4 {
      journal[second + JournalLayout.valueLength + byte] =
        UInt8(truncatingIfNeeded: length >> (8 * byte))
    }
    try scratch.overwrite("journal", with: journal)
    #expect(unsafe truncate(scratch.file("journal"), 20 << 20) == 0)
    let findings = try scratch.open().verify().findings.map(\.description)
    #expect(
      findings.first
        == "bytes \(second) to \(JournalLayout.start(ofRecord: 3) - 1) do not open as a record")
  }

  @Test func `bytes with a length beyond the end of the journal are not a record`() throws {
    let journal = try #require(store.files["journal"])
    // The length of the last record is 16 bytes larger, but there are no more bytes.
    try scratch.overwrite("journal", with: journal)
    let last = journal.count - JournalLayout.shortRecordByteCount
    let byteCount = JournalLayout.shortValueByteCount
    try scratch.flip(
      "journal", at: last + JournalLayout.valueLength, bit: byteCount ^ (byteCount + 16))
    let findings = try scratch.open().verify().findings.map(\.description)
    #expect(findings.first == "bytes \(last) to \(journal.count - 1) do not open as a record")
  }

  @Test func `a change behind other bytes is damage even at the end of the journal`() throws {
    let journal = try #require(store.files["journal"])
    try scratch.overwrite("journal", with: journal + [0xFF] + records()[0])
    #expect(try !scratch.open().verify().isSound)
    #expect(try code { _ = try scratch.open().names(in: nil) } == StoreError.corrupt)
  }

  @Test func `a changed superseded record is a finding, but not a damaged item`() throws {
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.value)
    let report = try scratch.open().verify()
    #expect(report.findings.map(\.part) == [.journal])
    #expect(report.findings.first?.description.contains("an older value") == true)
    #expect(report.damagedItems == [])
    #expect(try scratch.open().text("a") == "second of a")
  }

  @Test func `a missing, short, changed and foreign mark are damage until a repair`() throws {
    let mark = try #require(store.files["mark"])
    let contents = [[], Array(mark.dropLast()), mark + [0], [mark[0] ^ 1] + mark.dropFirst()]
    for content in [nil] + contents {
      try FileManager.default.removeItem(atPath: scratch.file("mark"))
      if let content {
        #expect(
          FileManager.default.createFile(
            atPath: scratch.file("mark"), contents: Data(content),
            attributes: [.posixPermissions: 0o600]))
      }
      try expectDamagedMark()
      let repaired = try scratch.open().repair()
      #expect(!repaired.isEndConfirmed)
      #expect(try parts() == [.files])
      #expect(store.wrongAnswer() == nil)
      try store.restoreAll()
    }
    // This is a mark of the previous journal, but not its last mark.
    try scratch.open().put("new", as: "a")
    try scratch.open().compact()
    try scratch.overwrite("mark", with: mark)
    try expectDamagedMark()
  }

  private func expectDamagedMark() throws {
    let opened = try scratch.open()
    #expect(try parts() == [.mark])
    #expect(try !opened.verify().isSound)
    for body in [
      { _ = try opened.text("a") }, { _ = try opened.contains(name("missing")) },
      { _ = try opened.texts() }, { try opened.put("new", as: "b") },
    ] {
      #expect(try code(body) == StoreError.corrupt)
    }
    #expect(try parts() == [.mark])
  }

  @Test func `an abandoned rotation is a finding, and the next change removes it`()
    throws
  {
    for name in ["header.next", "journal.next"] {
      #expect(
        FileManager.default.createFile(
          atPath: scratch.file(name), contents: Data(store.files["header"] ?? []),
          attributes: [.posixPermissions: 0o600]))
    }
    #expect(try parts() == [.rotation])
    #expect(store.wrongAnswer() == nil)
    try scratch.open().put("new", as: "a")
    #expect(try parts() == [])
    #expect(try scratch.names() == storeFiles)
  }

  @Test func `a kept journal from before a repair is a finding, but not damage`() throws {
    #expect(
      FileManager.default.createFile(
        atPath: scratch.file("damaged-1"), contents: Data(),
        attributes: [.posixPermissions: 0o600]))
    let findings = try scratch.open().verify().findings
    #expect(findings.map(\.part) == [.files])
    #expect(findings.map(\.description) == ["damaged-1 is a journal from before a repair"])
    #expect(findings.filter(\.isDamage) == [])
  }

  @Test func `the next opening drops the remains of an unfinished write and reports this`() throws {
    let journal = try #require(store.files["journal"])
    for length in [1, 71, 72, 231, 232, 500] {
      let tail = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 31) | 1 }
      try scratch.overwrite("journal", with: journal + tail)
      let notices = Notices()
      let opened = try scratch.open(onNotice: notices)
      #expect(notices.all == [.unfinishedWriteDropped(byteCount: length)])
      #expect(try opened.verify().findings == [])
      #expect(store.wrongAnswer(of: opened) == nil)
      try store.restoreAll()
    }
  }

  @Test func `verifying reports all damage in many places`() throws {
    try scratch.flip("header", at: 50)
    try scratch.flip("mark", at: 5)
    try scratch.flip("journal", at: Self.valueOfFourth)
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 2) + JournalLayout.value)
    let report = try scratch.open().verify()
    #expect(Set(report.findings.map(\.part)) == [.header, .mark, .journal])
    #expect(report.findings.count == 4)
    // Without the mark, any item may have a newer value; no repair brings back "c", which was
    // removed.
    #expect(report.damagedItems.map(\.identifier) == ["a", "b", "d", "e"])
  }

  @Test(arguments: 1...9) func `a record with a damaged number is named by its place`(
    _ record: Int
  ) throws {
    let before = try records().prefix(record - 1).joined().count
    let start = JournalLayout.headByteCount + before
    try scratch.flip("journal", at: start + JournalLayout.number + 4)
    let opened = try scratch.open()
    let findings = try opened.verify().findings.map(\.description)
    let found = try #require(findings.first { $0.hasPrefix("record ") })
    #expect(found.hasPrefix("record \(record) at byte \(start), "))
    if record == 9 { #expect(!found.contains("older value")) }
  }

  /// Returns the nine records of the journal in order.
  private func records() throws -> [[UInt8]] {
    JournalLayout.records(of: try #require(store.files["journal"]))
  }

  static let orders: [[Int]] = [
    Array(0..<9) + Array(0..<9), Array(0..<9) + (0..<9).reversed(), (0..<9).reversed(),
    (0..<9).flatMap { [$0, $0] }, (0..<9).reversed().flatMap { [$0, $0] },
    [3, 1, 0, 1, 2, 0, 3, 3, 8, 4, 5, 6, 7, 8, 4],
  ]

  @Test(arguments: orders)
  func `every record counts once, wherever it and its copies are`(order: [Int]) throws {
    let records = try records()
    let head = try #require(store.files["journal"]).prefix(JournalLayout.headByteCount)
    try scratch.overwrite("journal", with: Array(head) + order.flatMap { records[$0] })
    let opened = try scratch.open()
    let report = try opened.verify()
    #expect(!report.isSound)
    #expect(report.recordCount == 9)
    #expect(try opened.repair().lostRecordCount == 0)
    #expect(try opened.texts() == store.truth.compactMapValues { $0 })
  }

  @Test func `ten thousand places of damage are listed, and then the start of the others`() throws {
    let journal = try #require(store.files["journal"])
    let copy = try [0xFF] + records()[0]
    try scratch.overwrite(
      "journal", with: journal + Array(repeating: copy, count: 10_002).joined())
    let findings = try scratch.open().verify().findings.map(\.description)
    let others = journal.count + 10_000 * copy.count
    #expect(findings.count == 10_002)
    #expect(
      findings[10_000] == "more records from byte \(others) on do not open; they are not listed")
  }

  @Test func `a missing header is distinguished from a damaged header`() throws {
    try scratch.flip("header", at: 50)
    #expect(
      try scratch.open().verify().findings.map(\.description)
        == ["the header is damaged; its copy is used"])
    try FileManager.default.removeItem(atPath: scratch.file("header"))
    #expect(
      try scratch.open().verify().findings.map(\.description)
        == ["the header is missing; its copy is used"])
  }

  @Test func `an interrupted rotation is distinguished from an abandoned rotation`() throws {
    let disk = FaultyFileSystem()
    let opened = try scratch.open(StoreEnvironment(fileSystem: disk))
    disk.setRule { $0.kind == .rename && $0.name == "journal" ? .fail(EIO) : nil }
    let next = try #require(store.files["header"])
    #expect(try code { try opened.rotate() } == StoreError.io)
    try RecordedDisk.write(["header.next": next], to: scratch["given up"])
    try FileManager.default.copyItem(
      atPath: scratch["given up/header.next"], toPath: scratch.file("header.next"))
    #expect(
      try scratch.open().verify().findings.map(\.description)
        == ["a rotation was given up; the next program that opens and changes the store cleans up"]
    )
    disk.setRule { $0.kind == .rename && $0.name == "header" ? .fail(EIO) : nil }
    try opened.rotate()
    #expect(
      try scratch.open().verify().findings.map(\.description)
        == ["a rotation was interrupted; the next change finishes it"])
  }

  @Test func `progress reaches its end`() throws {
    let reports = Reports()
    let opened = try scratch.open()
    _ = try opened.verify(progress: reports.progress)
    _ = try opened.names(in: nil, progress: reports.progress)
    try opened.compact(progress: reports.progress)
    try opened.rotate(progress: reports.progress)
    #expect(reports.list.count >= 4)
    #expect(reports.list.allSatisfy { $0.done <= $0.total })
    #expect(reports.list.last.map { $0.done == $0.total } == true)
  }

  @Test func `reading reports progress at every 1,024th item and at the end`() throws {
    let opened = try scratch.open()
    let value = SecretBytes(utf8: "value")
    let changes = try (0..<2_100).map { StoreChange.put(value, for: try name("many \($0)")) }
    try opened.apply(changes)
    let reports = Reports()
    let count = try opened.names(in: nil, progress: reports.progress).count
    #expect(reports.list.map(\.done) == [0, 1024, 2048, count])
    #expect(reports.list.allSatisfy { $0.total == count })
  }

  @Test func `verifying reports progress for every mebibyte, even behind damage`() throws {
    let value = SecretBytes(Data(count: 1 << 20))
    for number in 1...4 { try scratch.open().put(value, for: try name("large \(number)")) }
    var content = try scratch.bytes(of: "journal")
    let start = JournalLayout.headByteCount
    content.replaceSubrange(start..<start + 3 << 20, with: Array(repeating: 255, count: 3 << 20))
    try scratch.overwrite("journal", with: content)
    let reports = Reports()
    _ = try scratch.open().verify(progress: reports.progress)
    #expect(reports.list.count == 5)
    #expect(reports.list.last == Reports.Report(done: content.count, total: content.count))
  }
}

/// A collection of the progress reports of an operation.
private final class Reports: Sendable {
  struct Report: Equatable {
    let done: Int
    let total: Int
  }

  private let reports = Locked<[Report]>([])

  var list: [Report] { reports.value }

  var progress: SealedFileStore.Progress {
    { [reports] done, total in
      reports.withLock { $0.append(Report(done: done, total: total)) }
    }
  }
}
