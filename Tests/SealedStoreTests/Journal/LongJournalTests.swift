import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of journals that are longer than one read.
@Suite(.onOwnThread) struct LongJournalTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  /// Creates a store with values of the given sizes in turn, up to a total length.
  private func fill(
    _ sizes: [Int], byteCount: Int, in given: SealedFileStore? = nil
  ) throws -> [String: Int] {
    let store = if let given { given } else { try scratch.create() }
    var expected: [String: Int] = [:]
    var changes: [StoreChange] = []
    var total = 0
    while total < byteCount {
      let size = sizes[changes.count % sizes.count]
      let identifier = "item \(changes.count)"
      let bytes = SeededRandom.bytes(size, seed: 1, number: UInt64(changes.count))
      changes.append(.put(SecretBytes(bytes), for: try name(identifier)))
      expected[identifier] = size
      total += size
    }
    try store.apply(changes)
    return expected
  }

  /// Makes a disk whose rule applies to the reads of the journal, by their number.
  private func disk(
    _ rule: @escaping @Sendable (_ number: Int) -> FaultyFileSystem.Fault?
  ) -> FaultyFileSystem {
    let readCount = Locked(0)
    return FaultyFileSystem { call in
      guard call.kind == .read, call.name == "journal" else { return nil }
      let number = readCount.withLock { count in
        count += 1
        return count
      }
      return rule(number)
    }
  }

  /// The lengths of a journal that one thread reads, and of one that two threads read.
  static let byteCounts = [9 << 20, 20 << 20]

  @Test(
    arguments: [
      [900], [3, 4096, 70_000], [200_000, 10], [1_500_000, 100], [262_144 - 48, 262_144, 5],
      [10, 3_000_000],
    ], byteCounts)
  func `every item of a long journal is found`(sizes: [Int], byteCount: Int) throws {
    let expected = try fill(sizes, byteCount: byteCount)
    let store = try scratch.open()
    #expect(try store.verify().findings == [])
    var found: [String: Int] = [:]
    for (name, value) in try store.contents() { found[name.identifier] = value.count }
    #expect(found == expected)
  }

  @Test func `a break anywhere in a long journal is found`() throws {
    _ = try fill([3000, 200, 9000], byteCount: 5 << 20)
    let journal = try scratch.bytes(of: "journal")
    // The offsets are around the borders between reads.
    let borders = Array(stride(from: 262_144, to: journal.count - 4096, by: 262_144))
    let offsets: [Int] = borders.flatMap { [$0 - 4097, $0 - 1, $0, $0 + 4095] }
    for offset in offsets {
      try scratch.flip("journal", at: offset)
      #expect(try !scratch.open().verify().isSound, "byte \(offset)")
      try scratch.flip("journal", at: offset)
    }
    for length in [journal.count - 1, journal.count / 2, 262_144 * 3, 262_144 * 3 + 1] {
      try scratch.overwrite("journal", with: Array(journal[..<length]))
      #expect(try !scratch.open().verify().isSound, "\(length) bytes")
    }
  }

  @Test func `a break anywhere in a journal that two threads read is found`() throws {
    _ = try fill([3000, 200, 9000, 2_000_000], byteCount: 18 << 20)
    let journal = try scratch.bytes(of: "journal")
    for border in [1 << 20, 2 << 20, 17 << 20] {
      for offset in [border - 4097, border - 1, border, border + 4095] {
        try scratch.flip("journal", at: offset)
        #expect(try !scratch.open().verify().isSound, "byte \(offset)")
        try scratch.flip("journal", at: offset)
      }
      for length in [border - 1, border, border + 1] where length > 16 << 20 {
        try scratch.overwrite("journal", with: Array(journal[..<length]))
        #expect(try !scratch.open().verify().isSound, "\(length) bytes")
        try scratch.overwrite("journal", with: journal)
      }
    }
    #expect(try scratch.open().verify().isSound)
  }

  @Test func `no part of a large confirmed change that is broken at its end is read`() throws {
    let store = try scratch.create()
    for identifier in ["a", "b", "c"] { try store.put("1", as: identifier) }
    var changes: [StoreChange] = [.remove(try name("a"))]
    for number in 0..<3000 {
      changes.append(.put(SecretBytes([2]), for: try name("item \(number)")))
    }
    try store.apply(changes)
    let byteCount = try scratch.bytes(of: "journal").count
    try scratch.flip("journal", at: byteCount - 1)
    let spoiled = try scratch.open()
    #expect(try !spoiled.verify().isSound)
    for identifier in ["a", "b", "item 0", "item 2999", "absent"] {
      #expect(try code { _ = try spoiled.text(identifier) } == StoreError.corrupt, "\(identifier)")
    }
    #expect(try code { _ = try spoiled.names(in: nil) } == StoreError.corrupt)
    try scratch.flip("journal", at: byteCount - 1)

    // Only the chain value of the last record is damaged: all others are certain.
    try scratch.flip("journal", at: byteCount - 232 + 60)
    let unchained = try scratch.open()
    #expect(try unchained.text("b") == "1")
    #expect(try unchained.value(for: name("item 0")) == SecretBytes([2]))
    for identifier in ["a", "item 2999", "absent"] {
      #expect(try code { _ = try unchained.text(identifier) } == StoreError.corrupt)
    }
    #expect(try code { _ = try unchained.names(in: nil) } == StoreError.corrupt)
  }

  @Test func `a journal that is cut while it is read is broken`() throws {
    _ = try fill([3000, 200, 9000], byteCount: 18 << 20)
    let path = scratch.file("journal")
    let cut = (5 << 20) + 17
    let disk = disk { number in
      if number == 5 { #expect(unsafe truncate(path, cut) == 0) }
      return nil
    }
    let report = try scratch.open(StoreEnvironment(fileSystem: disk)).verify()
    #expect(!report.isSound)
    // The journal is valid up to the last whole record.
    #expect((cut - 10_000...cut).contains(report.journalByteCount))
  }

  /// Has many short records, so that parts are read before it is known where a record starts.
  @Test func `a bad sector that opening does not need to read is not an error`() throws {
    _ = try fill(Array(repeating: 200, count: 20_000) + [15 << 20], byteCount: 18 << 20)
    let byteCount = try scratch.bytes(of: "journal").count
    for offset in [12 << 20, 8 << 20, 4 << 20].map({ byteCount - $0 }) {
      let disk = FaultyFileSystem { call in
        call.kind == .read && call.name == "journal" && call.range.contains(offset)
          ? .fail(EIO) : nil
      }
      let store = try scratch.open(StoreEnvironment(fileSystem: disk))
      #expect(try store.value(for: name("item 19999")) != nil)
      #expect(try code { _ = try store.value(for: name("item 20000")) } == StoreError.io)
    }
  }

  @Test func `a part that cannot be read is not taken for an unfinished write`() throws {
    let store = try scratch.create()
    let mark = try scratch.bytes(of: "mark")
    let expected = try fill([1000], byteCount: 18 << 20, in: store)
    try scratch.overwrite("mark", with: mark)
    let disk = FaultyFileSystem { call in
      // No other reads behind the first megabytes are as long as those of parts.
      call.kind == .read && call.name == "journal" && call.range.lowerBound > 8 << 20
        && call.byteCount > 256 << 10 ? .fail(EIO) : nil
    }
    let code = try code {
      _ = try scratch.open(StoreEnvironment(fileSystem: disk)).names(in: nil)
    }
    #expect(code == StoreError.io)
    #expect(try scratch.open().names(in: nil).count == expected.count)
  }

  @Test func `a long journal is opened and listed in one pass from front to back`() throws {
    let count = try fill([1000], byteCount: 2 << 20).count
    let byteCount = try scratch.bytes(of: "journal").count
    // A quarter of a mebibyte at a time, beginning with the page in which a record begins. In
    // addition, the start of the unread part is read before and after, and so is the reserve.
    let maximumReadCount = byteCount / (250 << 10) + 5
    let disk = FaultyFileSystem()
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(disk.calls.count { $0.kind == .read && $0.name == "journal" } <= maximumReadCount)
    disk.setRule(nil)
    #expect(try store.names(in: nil).count == count)
    #expect(disk.count(.read) <= maximumReadCount)
  }

  @Test func `a hole in a damaged journal is skipped without being read`() throws {
    let store = try scratch.create()
    try store.put("1", as: "a")
    let byteCount = try scratch.bytes(of: "journal").count
    try store.put("2", as: "b")
    try scratch.overwrite("journal", with: Array(scratch.bytes(of: "journal")[..<byteCount]))
    #expect(unsafe truncate(scratch.file("journal"), 16 << 20) == 0)
    let disk = FaultyFileSystem()
    let report = try scratch.open(StoreEnvironment(fileSystem: disk)).verify()
    #expect(!report.isSound)
    #expect(report.recordCount == 1)
    #expect(report.journalByteCount == byteCount)
    #expect(disk.count(.read) < 40)
  }

  @Test func `every short value between any number of long values with holes is found`()
    throws
  {
    let store = try scratch.create()
    let value = SecretBytes([UInt8](repeating: 1, count: SealedFileStore.maximumValueByteCount))
    // Together they are longer than the limit of a search, but no search is needed: a record
    // follows each.
    var shortTexts: [String: String] = [:]
    for number in 0..<5 {
      try store.put(value, for: name("long \(number)"))
      try store.put("\(number)", as: "short \(number)")
      shortTexts["short \(number)"] = "\(number)"
    }
    let journal = try scratch.bytes(of: "journal")
    try keepOnlyEnds(ofRecordsIn: journal)
    let damaged = try scratch.open()
    let report = try damaged.verify()
    #expect(report.findings.map(\.part) == Array(repeating: .journal, count: 5))
    #expect(report.recordCount == 5)
    #expect(try damaged.repair().lostRecordCount == 5)
    #expect(try scratch.open().texts() == shortTexts)
  }

  /// Replaces the middle of long records, which the chain does not cover, with a hole.
  ///
  /// A copy that lost blocks looks like this.
  private func keepOnlyEnds(ofRecordsIn journal: [UInt8]) throws {
    var start = JournalLayout.headByteCount
    try scratch.overwrite("journal", with: Array(journal[..<start]))
    let handle = try FileHandle(forWritingTo: URL(filePath: scratch.file("journal")))
    defer { try? handle.close() }
    for record in JournalLayout.records(of: journal) {
      for end in [record.prefix(4096), record.suffix(4096)] {
        try handle.seek(toOffset: UInt64(start + end.startIndex))
        try handle.write(contentsOf: Data(end))
      }
      start += record.count
    }
  }

  @Test(arguments: [6 << 20, 24 << 20])
  func `a read that fails during opening is reported`(byteCount: Int) throws {
    _ = try fill([1000, 20_000], byteCount: byteCount)
    for number in [1, 2, 3, 12, 24] {
      let disk = disk { $0 >= number ? .fail(EIO) : nil }
      #expect(
        try code { _ = try scratch.open(StoreEnvironment(fileSystem: disk)) } == StoreError.io)
    }
  }
}
