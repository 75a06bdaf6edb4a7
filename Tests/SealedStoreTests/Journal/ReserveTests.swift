import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests of the zeros behind the end of a journal, over which the next changes are written.
@Suite struct ReserveTests {
  private static let unit = 32 << 10

  let scratch: Scratch
  let store: SealedFileStore
  let disk = FaultyFileSystem()

  init() throws {
    scratch = try Scratch()
    store = try scratch.create(StoreEnvironment(fileSystem: disk))
  }

  private func fileByteCount() throws -> Int {
    try #require(FileManager.default.contents(atPath: scratch.file("journal"))).count
  }

  @Test func `the file is extended once for many changes`() throws {
    #expect(try fileByteCount() == 88)
    var lengths: [Int] = []
    while try scratch.bytes(of: "journal").count < 3 * Self.unit {
      try store.put(String(repeating: "x", count: 1000), as: "\(lengths.count)")
      lengths.append(try fileByteCount())
    }
    #expect(lengths.count > 70)
    #expect(Set(lengths) == [Self.unit, 2 * Self.unit, 3 * Self.unit, 4 * Self.unit])
    let found = try scratch.open()
    #expect(try found.names(in: nil).count == lengths.count)
    #expect(try found.verify().findings == [])
  }

  @Test func `a change that is longer than a reserve has a reserve behind it`() throws {
    try store.put(String(repeating: "x", count: 100_000), as: "long")
    #expect(try fileByteCount() % Self.unit == 0)
    #expect(try scratch.bytes(of: "journal").count > 100_000)
    try store.put("short", as: "item")
    #expect(try scratch.open().text("item") == "short")
  }

  @Test func `a compacted journal has no reserve until it is written again`() throws {
    try store.put("1", as: "item")
    try store.compact()
    #expect(try fileByteCount() == scratch.bytes(of: "journal").count)
    try store.put("2", as: "item")
    #expect(try fileByteCount() == Self.unit)
    #expect(try scratch.open().verify().findings == [])
  }

  @Test func `without space for a reserve a change is stored without a reserve`() throws {
    disk.setRule { $0.kind == .write && $0.byteCount > 1000 ? .fail(ENOSPC) : nil }
    for number in 1...3 { try store.put("\(number)", as: "item") }
    #expect(try fileByteCount() == 88 + 3 * 232)
    disk.setRule(nil)
    try store.put("4", as: "item")
    #expect(try fileByteCount() == Self.unit)
    let found = try scratch.open()
    #expect(try found.text("item") == "4")
    #expect(try found.verify().findings == [])
  }

  /// The file was extended without writing anything.
  @Test func `the writes of changes in an extended journal are not longer`() throws {
    let byteCount = (1 << 30) + 5
    try store.put("1", as: "item")
    let other = try scratch.open()
    #expect(unsafe truncate(scratch.file("journal"), byteCount) == 0)
    let fresh = try scratch.open(StoreEnvironment(fileSystem: disk))
    try fresh.put("2", as: "item")
    disk.setRule(nil)
    try store.put("3", as: "item")
    // This is another journal with a newer mark, which no reader needs to recover.
    try other.compact()
    try other.put("4", as: "item")
    #expect(unsafe truncate(scratch.file("journal"), byteCount) == 0)
    #expect(try store.text("item") == "4")
    try store.put("5", as: "item")
    #expect(try store.text("item") == "5")
    let written = disk.calls.filter { $0.kind == .write && $0.name == "journal" }.map(\.byteCount)
    #expect(written == [232, 232])
    #expect(disk.calls.filter { $0.kind == .read }.reduce(0) { $0 + $1.byteCount } < 8 << 20)
  }

  @Test func `a journal that is longer than changes can make it is damaged for every writer`()
    throws
  {
    try store.put("1", as: "item")
    let byteCount = try fileByteCount()
    let opened = [store, try scratch.open()]
    #expect(unsafe truncate(scratch.file("journal"), 1 << 40) == 0)
    for opened in opened + [try scratch.open()] {
      #expect(try code { try opened.put("2", as: "item") } == StoreError.corrupt)
    }
    #expect(unsafe truncate(scratch.file("journal"), off_t(byteCount)) == 0)
    for (number, opened) in opened.enumerated() { try opened.put("\(number)", as: "item") }
    #expect(try scratch.open().text("item") == "1")
  }
}
