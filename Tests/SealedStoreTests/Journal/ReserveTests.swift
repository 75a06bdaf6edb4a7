import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import Testing

/// Zeros behind the end of a journal, over which the next changes are written.
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

  @Test func `the file is made longer once for many changes`() throws {
    #expect(try fileByteCount() == 64)
    var lengths: [Int] = []
    while try scratch.bytes(of: "journal").count < 3 * Self.unit {
      try store.put(String(repeating: "x", count: 1000), as: "\(lengths.count)")
      lengths.append(try fileByteCount())
    }
    #expect(lengths.count > 70)
    #expect(Set(lengths) == [Self.unit, 2 * Self.unit, 3 * Self.unit, 4 * Self.unit])
    let found = try scratch.open()
    #expect(try found.keys(in: nil).count == lengths.count)
    #expect(try found.verify().findings == [])
  }

  @Test func `a change that is longer than a reserve has one behind it`() throws {
    try store.put(String(repeating: "x", count: 100_000), as: "long")
    #expect(try fileByteCount() % Self.unit == 0)
    #expect(try scratch.bytes(of: "journal").count > 100_000)
    try store.put("short", as: "item")
    #expect(try scratch.open().text("item") == "short")
  }

  @Test func `a compacted journal has none until it is written again`() throws {
    try store.put("1", as: "item")
    try store.compact()
    #expect(try fileByteCount() == scratch.bytes(of: "journal").count)
    try store.put("2", as: "item")
    #expect(try fileByteCount() == Self.unit)
    #expect(try scratch.open().verify().findings == [])
  }

  @Test func `where there is no space for a reserve a change is stored without`() throws {
    disk.setRule { $0.kind == .write && $0.byteCount > 1000 ? .fail(ENOSPC) : nil }
    for number in 1...3 { try store.put("\(number)", as: "item") }
    #expect(try fileByteCount() == 64 + 3 * 216)
    disk.setRule(nil)
    try store.put("4", as: "item")
    #expect(try fileByteCount() == Self.unit)
    let found = try scratch.open()
    #expect(try found.text("item") == "4")
    #expect(try found.verify().findings == [])
  }

  @Test func `a change without its flags is none, for readers and for the next writer`() throws {
    try store.put("before", as: "item")
    let end = try scratch.bytes(of: "journal").count
    let mark = try scratch.bytes(of: "mark")
    let reader = try scratch.open()
    #expect(try reader.text("item") == "before")
    try store.put("after", as: "item")
    // The first of the change and the last.
    let flags: UInt8 = 6
    // As it is between the two writes of a writer that dies there.
    try scratch.overwrite("mark", with: mark)
    try scratch.flip("journal", at: end + 4, bit: flags)
    #expect(try reader.text("item") == "before")
    let opened = try scratch.open()
    #expect(try opened.text("item") == "before")
    #expect(try opened.verify().findings.map(\.place) == [.tail])
    // The other one has read it as a reserve, and sees the flags when they come.
    try scratch.flip("journal", at: end + 4, bit: flags)
    #expect(try reader.text("item") == "after")
    #expect(try opened.text("item") == "after")
    try scratch.flip("journal", at: end + 4, bit: flags)
    let notices = Notices()
    try scratch.open(onNotice: notices).put("other", as: "other")
    #expect(notices.all.count == 1)
    #expect(try scratch.open().texts() == ["item": "before", "other": "other"])
  }
}
