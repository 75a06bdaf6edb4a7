import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import Testing

/// What is kept of a write that never ended.
@Suite struct UnfinishedWriteTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  /// Puts the store back as it was, with so many bytes of an unfinished write behind.
  private func restore(_ files: RecordedDisk.Content, tail: UInt8, _ byteCount: Int) throws {
    for name in ["journal", "mark"] { try scratch.overwrite(name, with: files[name] ?? []) }
    let journal = try #require(files["journal"])
    try scratch.overwrite(
      "journal", with: journal + [UInt8](repeating: tail, count: byteCount))
  }

  private func kept() throws -> [String] {
    try scratch.names().filter { $0.hasPrefix("tail-") }.sorted()
  }

  private func cut(_ notices: Notices = Notices()) throws -> String? {
    try scratch.open(onNotice: notices).put("after", as: "item")
    for case .unfinishedWriteCutOff(_, let keptAt) in notices.all { return keptAt }
    return nil
  }

  @Test func `a tail does not take the name of another one, and is not kept twice`() throws {
    try scratch.create().put("before", as: "item")
    let files = try RecordedDisk.read(scratch.path)
    try restore(files, tail: 0xA1, 300)
    let first = try #require(try cut())
    // Another write was interrupted at the same place, as long as that one, then a longer one.
    try restore(files, tail: 0xB2, 300)
    let second = try #require(try cut())
    try restore(files, tail: 0xB2, 100_000)
    let third = try #require(try cut())
    #expect(Set([first, second, third]).count == 3)
    #expect(try kept().count == 3)
    for (path, byte, count) in [(first, 0xA1, 300), (second, 0xB2, 300), (third, 0xB2, 100_000)] {
      #expect(
        try Data(contentsOf: URL(filePath: path)) == Data(repeating: UInt8(byte), count: count))
    }
    // Cutting off was interrupted after the tail had been kept: it has its name already.
    try restore(files, tail: 0xB2, 100_000)
    #expect(try cut() == third)
    // Only the last byte differs.
    try restore(files, tail: 0xB2, 99_999)
    let journal = try scratch.bytes(of: "journal")
    try scratch.overwrite("journal", with: journal + [0xB3])
    #expect(try cut() != third)
    #expect(try kept().count == 4)
  }

  @Test func `an unfinished write in which something looks like a change is no damage`() throws {
    try scratch.create().put("before", as: "item")
    let journal = try scratch.bytes(of: "journal")
    // The prefix of a record that starts and ends a change, with a sealed part that is none.
    var prefix = journal[64..<64 + 48]
    prefix[64 + 8] = 3
    let torn = [UInt8](repeating: 0xA1, count: 100) + prefix + [UInt8](repeating: 0xA1, count: 400)
    try scratch.overwrite("journal", with: journal + torn)
    let store = try scratch.open()
    #expect(try store.verify().isSound)
    #expect(try store.texts() == ["item": "before"])
    #expect(try cut() != nil)
  }

  @Test func `an unfinished write that was looked at is known again by its first bytes`() throws {
    try scratch.create().put("before", as: "item")
    try restore(RecordedDisk.read(scratch.path), tail: 0xA1, 1000)
    let disk = FaultyFileSystem()
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(try store.contains(name("item")))
    disk.setRule(nil)
    for _ in 0..<10 { #expect(try store.contains(name("item"))) }
    #expect(disk.count(.read) == 10)
  }

  @Test func `a change as long as the unfinished write whose place it took is seen`() throws {
    try scratch.create().put("before", as: "item")
    try restore(RecordedDisk.read(scratch.path), tail: 0xA1, 216)
    let reader = try scratch.open()
    #expect(try reader.text("item") == "before")
    try scratch.open().put("after", as: "item")
    #expect(try reader.text("item") == "after")
  }

  @Test func `a change that was being written when it was looked at is seen once it is whole`()
    throws
  {
    let store = try scratch.create()
    try store.put("before", as: "item")
    let mark = try scratch.bytes(of: "mark")
    try store.put("after", as: "item")
    let journal = try scratch.bytes(of: "journal")
    try scratch.overwrite("mark", with: mark)
    try scratch.overwrite("journal", with: Array(journal.dropLast(10)))
    let reader = try scratch.open()
    #expect(try reader.text("item") == "before")
    try scratch.overwrite("journal", with: journal)
    #expect(try reader.text("item") == "after")
  }

  @Test func `a change that was never confirmed and lost its midst is an unfinished write`() throws
  {
    let store = try scratch.create()
    try store.put("before", as: "item")
    let mark = try scratch.bytes(of: "mark")
    try store.put("after", as: "item")
    try scratch.overwrite("mark", with: mark)
    // What the chain does not look at.
    try scratch.flip("journal", at: 64 + 216 + 100)
    #expect(try scratch.open().texts() == ["item": "before"])
    #expect(try scratch.open().verify().findings.map(\.place) == [.tail])
    #expect(try cut() != nil)
  }

  @Test(.timeLimit(.minutes(10)))
  func `a tail that is cut by someone else while it is kept is kept as far as it goes`() throws {
    try scratch.create().put("before", as: "item")
    let byteCount = try scratch.bytes(of: "journal").count
    try restore(RecordedDisk.read(scratch.path), tail: 0xA1, 300)
    let journal = scratch.file("journal")
    let disk = FaultyFileSystem(
      FaultyFileSystem.before(.open, "replacement") {
        #expect(unsafe truncate(journal, byteCount + 100) == 0)
      })
    try scratch.open(StoreEnvironment(fileSystem: disk)).put("after", as: "item")
    let tails = try kept().map { try scratch.bytes(of: $0) }
    #expect(tails == [[UInt8](repeating: 0xA1, count: 100)])
    #expect(try scratch.open().text("item") == "after")
  }

  /// The shortest record has 216 bytes.
  @Test(arguments: [(1, false), (215, false), (216, true), (217, true)])
  func `a tail is kept when it is as long as a record can be`(
    byteCount: Int, isKept: Bool
  ) throws {
    try scratch.create().put("before", as: "item")
    try restore(RecordedDisk.read(scratch.path), tail: 0xA1, byteCount)
    let notices = Notices()
    #expect((try cut(notices) != nil) == isKept)
    #expect(notices.all.count == 1)
    #expect(try kept().count == (isKept ? 1 : 0))
    #expect(try scratch.open().verify().findings.allSatisfy { $0.place == .files })
  }

  @Test func `a tail that cannot be kept for another reason is not cut off`() throws {
    try scratch.create().put("before", as: "item")
    try restore(RecordedDisk.read(scratch.path), tail: 0xA1, 300)
    let journal = try scratch.bytes(of: "journal")
    let disk = FaultyFileSystem { call in
      call.kind == .write && call.name == "replacement" ? .fail(EIO) : nil
    }
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(try code { try store.put("after", as: "item") } == StoreError.io)
    #expect(try scratch.bytes(of: "journal") == journal)
    disk.setRule(nil)
    try store.put("after", as: "item")
    #expect(try kept().count == 1)
  }

  @Test func `a tail for which there is no space is cut off all the same`() throws {
    try scratch.create().put("before", as: "item")
    try restore(RecordedDisk.read(scratch.path), tail: 0xA1, 300)
    let disk = FaultyFileSystem { call in
      call.kind == .write && call.name == "replacement" ? .fail(ENOSPC) : nil
    }
    let notices = Notices()
    let store = try scratch.open(StoreEnvironment(fileSystem: disk), onNotice: notices)
    try store.put("after", as: "item")
    #expect(notices.all == [.unfinishedWriteCutOff(byteCount: 300, keptAt: nil)])
    #expect(try scratch.names() == storeFiles)
    #expect(try scratch.open().text("item") == "after")
  }
}
