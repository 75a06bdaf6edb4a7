import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests of the remains that a writer left behind the mark without confirming them.
@Suite struct UnfinishedWriteTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    try store.put("before", as: "item")
  }

  /// Makes changes and restores the old mark, as after a power cut.
  ///
  /// - Returns: The journal with the changes, and the offset of the first change.
  private func makeUnmarked(
    _ body: () throws -> Void
  ) throws -> (journal: [UInt8], start: Int) {
    let mark = try scratch.bytes(of: "mark")
    let start = try scratch.bytes(of: "journal").count
    try body()
    let journal = try scratch.bytes(of: "journal")
    try scratch.overwrite("mark", with: mark)
    return (journal, start)
  }

  /// Returns whether the journal is still the same, with only zeros behind it.
  private func isJournal(_ journal: [UInt8]) throws -> Bool {
    let content = try #require(RecordedDisk.read(scratch.path, withReserve: true)["journal"])
    return Array(content.prefix(journal.count)) == journal
      && content.dropFirst(journal.count).allSatisfy { $0 == 0 }
  }

  @Test func `remains are dropped by the next opening, and replaced by a void change`() throws {
    let journal = try scratch.bytes(of: "journal")
    for byteCount in [1, 71, 231, 232, 233, 100_000] {
      try scratch.overwrite(
        "journal", with: scratch.bytes(of: "journal") + [UInt8](repeating: 0xA1, count: byteCount))
      let notices = Notices()
      let opened = try scratch.open(onNotice: notices)
      #expect(notices.all == [.unfinishedWriteDropped(byteCount: byteCount)])
      #expect(try opened.texts() == ["item": "before"])
      #expect(try opened.verify().findings == [])
      #expect(try scratch.names() == storeFiles)
    }
    #expect(try scratch.bytes(of: "journal").count == journal.count + 6 * 232)
    try scratch.open().put("after", as: "item")
    #expect(try scratch.open().texts() == ["item": "after"])
  }

  @Test func `whole changes behind an old mark count at the next opening and later`() throws {
    _ = try makeUnmarked {
      try store.put("1", as: "first")
      try store.apply([.put(secret("2"), for: name("second")), .remove(name("item"))])
    }
    let notices = Notices()
    #expect(try scratch.open(onNotice: notices).texts() == ["first": "1", "second": "2"])
    #expect(notices.all == [.interruptedChangeFinished])
    #expect(try scratch.open().verify().findings == [])
  }

  /// A long change reaches further behind the mark than a reserve.
  @Test(arguments: [10, 100_000])
  func `whole changes behind an old mark count before the next change of an open store`(
    byteCount: Int
  ) throws {
    let opened = try scratch.open()
    let text = String(repeating: "x", count: byteCount)
    _ = try makeUnmarked { try store.put(text, as: "left") }
    try opened.put("after", as: "item")
    #expect(try opened.texts() == ["item": "after", "left": text])
    #expect(try scratch.open().texts() == ["item": "after", "left": text])
  }

  @Test func `the bytes of the last change are written again, and synced, before it counts`() throws
  {
    let (journal, start) = try makeUnmarked { try store.put("after", as: "item") }
    let disk = FaultyFileSystem()
    _ = try scratch.open(StoreEnvironment(fileSystem: disk))
    let calls = disk.calls.filter { $0.kind == .write || $0.kind == .synchronizeData }
    #expect(calls.map(\.kind) == [.write, .synchronizeData, .write])
    #expect(calls.map(\.name) == ["journal", "journal", "mark"])
    #expect(calls.first?.range == start..<journal.count)
    #expect(try scratch.bytes(of: "journal") == journal)
  }

  @Test func `a change that lost bytes which the chain does not cover is dropped`() throws {
    for part in [80, 160] {
      let writer = try scratch.open()
      let (journal, start) = try makeUnmarked { try writer.put("after", as: "item") }
      try scratch.flip("journal", at: start + part)
      // Any byte may be zero, even the last.
      let end = try #require(journal.lastIndex { $0 != 0 }) + 1
      let notices = Notices()
      #expect(try scratch.open(onNotice: notices).texts() == ["item": "before"])
      #expect(notices.all == [.unfinishedWriteDropped(byteCount: end - start)])
    }
  }

  @Test func `a dropped change does not return when its bytes are restored`() throws {
    let (journal, start) = try makeUnmarked { try store.put("after", as: "item") }
    try scratch.flip("journal", at: start + 100)
    #expect(try scratch.open().texts() == ["item": "before"])
    // The mark is that of the void change, which is no longer at its place.
    try scratch.overwrite("journal", with: journal)
    #expect(try code { _ = try scratch.open().texts() } == StoreError.corrupt)
  }

  @Test func `remains that look like a change are not damage`() throws {
    let journal = try scratch.bytes(of: "journal")
    // The prefix of a record that starts and ends a change, with invalid sealed parts.
    let prefix = journal[88..<88 + 72]
    let torn = [UInt8](repeating: 0xA1, count: 100) + prefix + [UInt8](repeating: 0xA1, count: 400)
    try scratch.overwrite("journal", with: journal + torn)
    #expect(try scratch.open().texts() == ["item": "before"])
    #expect(try scratch.open().verify().findings == [])
  }

  @Test func `a change that opens behind the mark where no change can be is damage`() throws {
    let (journal, start) = try makeUnmarked {
      try store.put("1", as: "first")
      try store.put("2", as: "second")
    }
    // This is in the chain value of the first change: no crash damages only that.
    try scratch.flip("journal", at: start + 60)
    for identifier in ["item", "first", "missing"] {
      #expect(try code { _ = try scratch.open().text(identifier) } == StoreError.corrupt)
    }
    #expect(try code { try scratch.open().put("new", as: "item") } == StoreError.corrupt)
    #expect(try scratch.open().verify().findings.map(\.part) == [.journal])
    var damaged = journal
    damaged[start + 60] ^= 1
    #expect(try isJournal(damaged))
  }

  @Test func `opening waits for a writer, and uses the mark that it writes`() throws {
    let (_, _) = try makeUnmarked { try store.put("after", as: "item") }
    let unmarked = try scratch.bytes(of: "mark")
    let lock = LockFile(try PrivateDirectory(scratch.path, fileSystem: LinuxFileSystem()))
    let held = try lock.lock(byte: LockFile.writerByte, timeout: .seconds(1))
    defer { held.unlock() }
    let scratch = scratch
    let isOpen = Locked(false)
    try inThreads(2) { number in
      if number == 0 {
        let opened = try scratch.open()
        isOpen.withLock { $0 = true }
        #expect(try opened.text("item") == "after")
      } else {
        Thread.sleep(forTimeInterval: 0.1)
        #expect(isOpen.withLock { !$0 })
        // This does what the writer would do: the change is on the disk, now comes the mark.
        try Self.confirmLastChange(of: scratch, after: unmarked)
      }
    }
  }

  /// Writes the mark of the last change, taken from a copy of the store that recovered it.
  private static func confirmLastChange(of scratch: Scratch, after mark: [UInt8]) throws {
    let copy = try Scratch()
    try RecordedDisk.write(RecordedDisk.read(scratch.path), to: copy.path)
    _ = try SealedFileStore.open(at: copy.path, key: scratch.key)
    try scratch.overwrite("mark", with: copy.bytes(of: "mark"))
    #expect(try scratch.bytes(of: "mark") != mark)
  }

  @Test func `opening times out if it waits too long for a writer`() throws {
    _ = try makeUnmarked { try store.put("after", as: "item") }
    let lock = LockFile(try PrivateDirectory(scratch.path, fileSystem: LinuxFileSystem()))
    let held = try lock.lock(byte: LockFile.writerByte, timeout: .seconds(1))
    defer { held.unlock() }
    let options = SealedFileStore.Options(lockTimeout: .milliseconds(50))
    let disk = FaultyFileSystem()
    let code = try code {
      _ = try SealedFileStore.open(
        at: scratch.path, key: scratch.key, options: options,
        environment: StoreEnvironment(fileSystem: disk))
    }
    #expect(code == StoreError.timedOut)
    // It does not wait again for the lock of a reader.
    #expect(!disk.calls.contains { $0.name == "lock" && $0.access == .read })
  }

  @Test func `an open store that saw only the old mark ignores a change behind it`() throws {
    let reader = try scratch.open()
    #expect(try reader.text("item") == "before")
    _ = try makeUnmarked { try store.put("after", as: "item") }
    #expect(try reader.text("item") == "before")
    _ = try scratch.open()
    #expect(try reader.text("item") == "after")
  }

  @Test func `recovery that fails marks nothing, and the next opening recovers the change`() throws
  {
    let (journal, _) = try makeUnmarked { try store.put("after", as: "item") }
    let mark = try scratch.bytes(of: "mark")
    for (kind, expected) in [
      (FaultyFileSystem.Call.Kind.write, StoreError.io),
      (.synchronizeData, StoreError.io),
    ] {
      let disk = FaultyFileSystem { call in
        call.kind == kind && call.name == "journal" ? .fail(EIO) : nil
      }
      #expect(try code { _ = try scratch.open(StoreEnvironment(fileSystem: disk)) } == expected)
      #expect(try scratch.bytes(of: "mark") == mark)
    }
    #expect(try scratch.open().texts() == ["item": "after"])
    #expect(try scratch.bytes(of: "journal") == journal)
  }

  @Test func `a read error behind the mark is an error, not an unfinished write`() throws {
    let (journal, start) = try makeUnmarked { try store.put("after", as: "item") }
    let disk = FaultyFileSystem { call in
      call.kind == .read && call.name == "journal" && call.range.upperBound > start
        ? .fail(EIO) : nil
    }
    #expect(try code { _ = try scratch.open(StoreEnvironment(fileSystem: disk)) } == StoreError.io)
    #expect(try isJournal(journal))
  }
}
