import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of files that were made without a key to exhaust or to crash a reader.
@Suite(.onOwnThread) struct HostileStoreTests {
  let scratch: Scratch
  let key: String
  let journal: [UInt8]

  init() throws {
    try self.init(in: Scratch())
  }

  private init(in scratch: Scratch) throws {
    self.scratch = scratch
    key = try scratch.writeKeyFile()
    let store = try scratch.create()
    try store.put(secret("value"), for: ItemName("item", in: "worker"))
    journal = try scratch.bytes(of: "journal")
  }

  private struct Report {
    var outcomes: [String: String] = [:]
    var peakByteCount = 0
  }

  /// Opens, reads, lists, verifies, changes and repairs the store in a separate process.
  private func probe() throws -> Report {
    let worker = try Worker("probe", scratch.path, key, "item")
    var report = Report()
    for line in worker.lines() {
      let parts = line.split(separator: " ").map(String.init)
      if parts[0] == "peak" {
        report.peakByteCount = (Int(parts[1]) ?? 0) * 1024
      } else {
        report.outcomes[parts[0]] = parts[1]
      }
    }
    #expect(worker.wait() == 0)
    #expect(report.peakByteCount > 0)
    return report
  }

  /// The allowed memory on top of that for the same work on an ordinary store.
  ///
  /// A sanitizer needs several times as much.
  private static let maximumExtraByteCount = isSanitized ? 512 << 20 : 64 << 20

  private static let ordinaryPeak = Result { try HostileStoreTests().probe().peakByteCount }

  private func isFair(_ report: Report) throws -> Bool {
    report.peakByteCount < (try Self.ordinaryPeak.get()) + Self.maximumExtraByteCount
  }

  @Test(arguments: ["header", "header.copy", "journal", "mark", "lock"])
  func `an empty file does not cause a crash`(file: String) throws {
    try scratch.overwrite(file, with: [])
    let report = try probe()
    #expect(report.outcomes["open"] == "ok")
    #expect(report.outcomes["value"] == (["journal", "mark"].contains(file) ? "corrupt" : "ok"))
  }

  @Test(arguments: ["header", "header.copy", "mark"])
  func `a file of a gigabyte that should be small is not read`(file: String) throws {
    #expect(unsafe truncate(scratch.file(file), 1 << 30) == 0)
    let report = try probe()
    #expect(report.outcomes["open"] == "ok")
    #expect(report.outcomes["value"] == (file == "mark" ? "corrupt" : "ok"))
    #expect(report.outcomes["put"] == (file == "mark" ? "corrupt" : "ok"))
    #expect(report.outcomes["repair"] == "ok")
    #expect(try isFair(report))
    #expect(try scratch.open().contents().count == 1)
  }

  @Test(.timeLimit(.minutes(10)))
  func `a journal with a gigabyte of zeros behind it is read quickly and in little memory`() throws
  {
    // A reserve can be this long.
    #expect(unsafe truncate(scratch.file("journal"), journal.count + 1 << 30) == 0)
    let store = try scratch.open()
    #expect(try store.contents().count == 1)
    #expect(try store.verify().findings == [])
    // No writer reserves or leaves this much: it is not truncated, and not copied to be kept.
    #expect(unsafe truncate(scratch.file("journal"), 1 << 40) == 0)
    let report = try probe()
    #expect(report.outcomes["open"] == "ok")
    #expect(report.outcomes["verify"] == "ok")
    #expect(report.outcomes["value"] == "corrupt")
    #expect(report.outcomes["put"] == "corrupt")
    #expect(try isFair(report))
    // The store is repaired, and the old journal is kept with its hole.
    #expect(report.outcomes["repair"] == "ok")
    let kept = try scratch.names().subtracting(storeFiles)
    #expect(kept.count == 1)
    var status = stat()
    #expect(unsafe stat(scratch.file(kept.first ?? ""), &status) == 0)
    #expect(status.st_size == 1 << 40)
    #expect(status.st_blocks * 512 < 2 << 20)
    #expect(try scratch.open().contents().count == 1)
  }

  /// A file system in which a file may have any length; others limit it to the size of a disk.
  private static let memoryFileSystem = "/dev/shm"

  @Test(arguments: [1 << 61 + 4096, 1 << 62, Int.max])
  func `a journal of the largest possible length is damaged, and can be repaired`(
    byteCount: Int
  ) throws {
    let directory = try TemporaryDirectory(in: Self.memoryFileSystem)
    let store = try HostileStoreTests(in: Scratch(in: directory))
    #expect(unsafe truncate(store.scratch.file("journal"), byteCount) == 0)
    #expect(try store.scratch.open().listing().damage?.code == .corrupt)
    let report = try store.probe()
    #expect(
      report.outcomes == [
        "open": "ok", "value": "corrupt", "keys": "corrupt", "verify": "ok", "put": "corrupt",
        "repair": "ok",
      ])
    #expect(try isFair(report))
    #expect(try store.scratch.open().contents().count == 1)
  }

  @Test(.timeLimit(.minutes(10)))
  func `forged lengths in front of a hole of terabytes are tried only as often as bytes allow`()
    throws
  {
    // Each of these prefixes could be the start of a record of 16 MiB.
    let forged = Array(repeating: forgedPrefix(valueByteCount: 16 + 16 << 20), count: 10_000)
    try scratch.overwrite("journal", with: journal + forged.joined())
    #expect(unsafe truncate(scratch.file("journal"), 1 << 42) == 0)
    let report = try probe()
    #expect(report.outcomes["verify"] == "ok")
    #expect(report.outcomes["repair"] == "ok")
    #expect(try scratch.open().contents().count == 1)
  }

  @Test func `an unfinished write of megabytes is searched once, not for every read`()
    throws
  {
    let disk = FaultyFileSystem()
    try scratch.overwrite("journal", with: journal + [UInt8](repeating: 1, count: 4 << 20))
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    // It is searched twice for its end, 64 KiB at a time, and once for records, 256 KiB at a time.
    #expect(disk.count(.read) < 200)
    disk.setRule(nil)
    for _ in 0..<10 { #expect(try store.contents().count == 1) }
    #expect(disk.count(.read) < 100)
  }

  @Test(.timeLimit(.minutes(10)))
  func `a journal of zeros is found corrupt quickly and in little memory`() throws {
    try scratch.overwrite("journal", with: [])
    #expect(unsafe truncate(scratch.file("journal"), 1 << 30) == 0)
    let report = try probe()
    #expect(report.outcomes["value"] == "corrupt")
    #expect(report.outcomes["put"] == "corrupt")
    #expect(try isFair(report))
  }

  /// An attacker without a key can copy a record, and the bytes between two copies are a gap.
  @Test func `copies of a record fill neither the memory nor a report`() throws {
    let copies = Array(repeating: JournalLayout.records(of: journal)[0] + [0xFF], count: 20_000)
      .joined()
    try scratch.overwrite("journal", with: journal + copies)
    let report = try scratch.open().verify()
    #expect(report.recordCount == 1)
    #expect(10_000...10_010 ~= report.findings.count)
    #expect(try probe().outcomes["repair"] == "ok")
    #expect(try scratch.open().contents().count == 1)
  }

  /// Returns the prefix of the journal's record with another length of its value.
  ///
  /// An attacker without a key can copy its kind and nonce, but cannot make another valid pair.
  private func forgedPrefix(valueByteCount: UInt32, number: Int = 1) -> [UInt8] {
    var prefix = Array(JournalLayout.records(of: journal)[0][..<JournalLayout.name])
    for byte in 0..<4 {
      prefix[JournalLayout.valueLength + byte] =
        UInt8(truncatingIfNeeded: valueByteCount >> (8 * UInt32(byte)))
      prefix[JournalLayout.number + byte] = UInt8(truncatingIfNeeded: number >> (8 * byte))
    }
    return prefix
  }

  /// Lengths of a sealed value: large and possible, just impossible, or too small.
  static let forgedLengths: [UInt32] = [
    UInt32.max, 1 << 31, 1 << 30, 16 + 33 << 19, 16 + 16 << 20, 16 << 20, 16 + 4 << 20, 80, 79, 16,
    0,
  ]

  @Test(.timeLimit(.minutes(10)), arguments: forgedLengths, [0, 512, 2048])
  func `forged lengths are refused quickly and in little memory`(
    length: UInt32, count: Int
  ) throws {
    let forged = (0...count).flatMap { forgedPrefix(valueByteCount: length, number: $0 + 2) }
    try scratch.overwrite("journal", with: journal + forged)
    // The file is long enough for some of the records to be whole.
    #expect(unsafe truncate(scratch.file("journal"), 40 << 20) == 0)
    let report = try probe()
    #expect(report.outcomes["open"] == "ok")
    let value = report.outcomes["value"]
    #expect(value == "ok" || value == "corrupt")
    #expect(try isFair(report))
  }

  @Test func `random files in a store's place are refused`() throws {
    for seed in UInt64(1)...60 {
      for (offset, name) in storeFiles.sorted().enumerated() where name != "lock" {
        guard (seed >> UInt64(offset)) & 1 == 1 else { continue }
        let length = [0, 1, 63, 64, 65, 200, 1000][Int(seed) % 7]
        let content = SeededRandom.bytes(length, seed: seed, number: UInt64(offset))
        try scratch.overwrite(name, with: content)
      }
      let code = try code { _ = try scratch.open().contents() }
      #expect(code == nil || code == StoreError.corrupt || code == StoreError.wrongKey)
    }
  }

  @Test func `a header with forged counts and lengths is refused`() throws {
    let header = try scratch.bytes(of: "header")
    for offset in [10, 11, 32, 33, 34, 35] {
      for value in [UInt8(0), 1, 3, 16, 17, 127, 255] where header[offset] != value {
        var forged = header
        forged[offset] = value
        forged = Checksum.repaired(forged)
        for name in ["header", "header.copy"] { try scratch.overwrite(name, with: forged) }
        let code = try code { _ = try scratch.open() }
        #expect(
          code == StoreError.corrupt || code == StoreError.wrongKey, "byte \(offset) is \(value)")
      }
    }
  }
}
