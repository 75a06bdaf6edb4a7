import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests of what a handle sees of a store while others write to it.
@Suite struct OtherWriterTests {
  let scratch: Scratch
  let store: SealedFileStore
  let disk = FaultyFileSystem()

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    try store.put("old", as: "item")
  }

  private func open() throws(StoreError) -> SealedFileStore {
    try scratch.open(StoreEnvironment(fileSystem: disk))
  }

  @Test func `changes by another handle are read without opening any file again`() throws {
    let reader = try open()
    #expect(try reader.text("item") == "old")
    disk.setRule(nil)
    try store.put("new", as: "item")
    #expect(try reader.text("item") == "new")
    #expect(disk.count(.open) == 0)
  }

  @Test func `a change that is written at any moment of a read is seen by the next read`() throws {
    var (number, callCount) = (0, 0)
    repeat {
      number += 1
      let reader = try open()
      _ = try reader.text("item")
      try store.put("before \(number)", as: "item")
      disk.setRule { [number, store] call in
        if call.number == number {
          #expect(throws: Never.self) {
            for text in ["one more", "after \(number)"] { try store.put(text, as: "item") }
          }
        }
        return nil
      }
      let first = try reader.text("item")
      #expect(["before \(number)", "after \(number)"].contains(first))
      // The reader continues, and does not reread everything from the start.
      #expect(disk.count(.open) == 0)
      callCount = disk.calls.count
      disk.setRule(nil)
      if callCount >= number { #expect(try reader.text("item") == "after \(number)") }
      #expect(try reader.verify().findings == [])
    } while callCount >= number
    // At least before the mark, the journal behind it and the value, and at the end.
    #expect(number > 3)
  }

  /// The records of a large change are added to the index before its end is read.
  @Test(arguments: [88, 300_000])
  func `records that a failed read had read by then do not count`(byteCount: Int) throws {
    let scratch = try Scratch()
    let store = try scratch.create()
    let reader = try scratch.open(StoreEnvironment(fileSystem: disk))
    let changes = try (0..<10_000).map { StoreChange.put(secret("v"), for: try name("item \($0)")) }
    let mark = try scratch.bytes(of: "mark")
    try store.apply(changes)
    disk.setRule { call in
      call.kind == .read && call.name == "journal" && call.range.contains(1_000_000)
        ? .fail(EIO) : nil
    }
    #expect(try code { _ = try reader.contains(name("item 0")) } == StoreError.io)
    disk.setRule(nil)
    // This is the state as if the change had never been finished.
    #expect(unsafe truncate(scratch.file("journal"), byteCount) == 0)
    try scratch.overwrite("mark", with: mark)
    #expect(try !reader.contains(name("item 0")))
    #expect(try reader.text("item 0") == nil)
    #expect(try reader.names(in: nil) == [])
    try reader.put("new", as: "item 1")
    try reader.compact()
    #expect(try scratch.open().contents().count == 1)
  }

  @Test func `no part of a broken change counts, even if it cannot be recovered`()
    throws
  {
    let reader = try SealedFileStore.open(
      at: scratch.path, key: scratch.key,
      options: SealedFileStore.Options(lockTimeout: .milliseconds(20)))
    #expect(try reader.text("item") == "old")
    let before = try RecordedDisk.read(scratch.path)
    try store.apply([
      .put(secret("1"), for: name("first")), .put(secret("new"), for: name("item")),
      .put(secret("3"), for: name("third")),
    ])
    let after = try RecordedDisk.read(scratch.path)
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 4) + JournalLayout.nonce)
    let lock = LockFile(try PrivateDirectory(scratch.path, fileSystem: LinuxFileSystem()))
    let held = try lock.lock(byte: LockFile.writerByte, timeout: .seconds(1))
    #expect(try code { _ = try reader.text("first") } == StoreError.timedOut)
    // This is the state as if the change had never been made.
    for name in ["journal", "mark"] { try scratch.overwrite(name, with: #require(before[name])) }
    #expect(try reader.text("first") == nil)
    #expect(try reader.texts() == ["item": "old"])
    for name in ["journal", "mark"] { try scratch.overwrite(name, with: #require(after[name])) }
    #expect(try reader.texts() == ["first": "1", "item": "new", "third": "3"])
    held.unlock()
  }

  @Test func `a journal that is cut below its head while it is opened is only damaged`()
    throws
  {
    let journal = scratch.file("journal")
    disk.setRule { call in
      // The head has already been read.
      if call.kind == .read, call.name == "journal", call.range.lowerBound > 0 {
        #expect(unsafe truncate(journal, 10) == 0)
      }
      return nil
    }
    let reader = try open()
    disk.setRule(nil)
    #expect(try !reader.verify().isSound)
    #expect(try code { _ = try reader.text("item") } == StoreError.corrupt)
    #expect(try code { _ = try reader.listing() } == nil)
  }

  @Test func `a change is seen once it is durable, even through the handle that makes it`() throws {
    let writer = try open()
    let seen = Locked<[String?]>([])
    disk.setRule { call in
      guard call.kind == .synchronizeData else { return nil }
      #expect(throws: Never.self) {
        let text = try writer.text("item")
        seen.withLock { $0.append(text) }
      }
      return nil
    }
    try writer.put("new", as: "item")
    disk.setRule(nil)
    #expect(seen.value == ["old"])
    #expect(try writer.text("item") == "new")
  }

  @Test func `a reader that rereads everything does not wait for an active writer`() throws {
    let reader = try SealedFileStore.open(
      at: scratch.path, key: scratch.key,
      options: SealedFileStore.Options(lockTimeout: .milliseconds(50)))
    #expect(try reader.text("item") == "old")
    try store.compact()
    try store.put("2", as: "item")
    let writer = try open()
    let seen = Locked<String?>(nil)
    // The next change is behind the mark by then, and the process that wrote the mark is alive.
    disk.setRule(
      FaultyFileSystem.before(.synchronizeData, "journal") {
        let text = try reader.text("item")
        seen.withLock { $0 = text }
      })
    try writer.put("3", as: "item")
    #expect(seen.value == "2")
    #expect(try reader.text("item") == "3")
  }

  @Test func `a journal is opened read-only only if opening it for writing is not permitted`()
    throws
  {
    for (errno, expected) in [(EACCES, nil), (EIO, StoreError.io), (EMFILE, StoreError.io)] {
      let hasFailed = Locked(false)
      disk.setRule { call in
        guard call.kind == .open, call.name == "journal" else { return nil }
        return hasFailed.withLock { hasFailed in
          defer { hasFailed = true }
          return hasFailed ? nil : .fail(errno)
        }
      }
      #expect(try code { _ = try open().text("item") } == expected)
    }
  }

  @Test func `an undamaged journal is opened once`() throws {
    _ = try open()
    #expect(disk.calls.count { $0.kind == .open && $0.name == "journal" } == 1)
    #expect(disk.count(.lock) == 0)
  }

  @Test func `damage that is gone at the second attempt is not reported`() throws {
    try expectPassingDamage(by: open)
  }

  @Test func `damage behind the read part that is gone at the second attempt is not reported`()
    throws
  {
    let reader = try open()
    try expectPassingDamage { reader }
  }

  /// Damages the newest record, undoes that before the mark is opened for the second time, and
  /// expects a handle to read the record.
  private func expectPassingDamage(by reader: () throws -> SealedFileStore) throws {
    let place = try scratch.bytes(of: "journal").count + 40
    try store.put("new", as: "item")
    try scratch.flip("journal", at: place)
    let checks = atSecondOpening(of: "mark") { [scratch] in
      #expect(throws: Never.self) { try scratch.flip("journal", at: place) }
    }
    #expect(try reader().text("item") == "new")
    #expect(2...3 ~= checks.value)
  }

  /// Runs a closure when a file is opened for the second time.
  ///
  /// - Returns: The number of times that it was opened.
  private func atSecondOpening(
    of file: String, _ body: @escaping @Sendable () -> Void
  ) -> Locked<Int> {
    let count = Locked(0)
    disk.setRule { call in
      guard call.kind == .open, call.name == file else { return nil }
      let isSecond = count.withLock { count in
        count += 1
        return count == 2
      }
      if isSecond { body() }
      return nil
    }
    return count
  }

  enum Harm: CaseIterable, Sendable { case headers, mark, missingMark }

  @Test(arguments: Harm.allCases)
  func `files that are restored while the holder of the lock reads them are not damage`(
    harm: Harm
  ) throws {
    let before = try RecordedDisk.read(scratch.path)
    try store.rotate()
    let harmed = harm == .headers ? ["header", "header.copy"] : ["mark"]
    for name in harmed {
      try FileManager.default.copyItem(atPath: scratch.file(name), toPath: scratch[name])
    }
    switch harm {
    case .headers:
      for name in harmed { try scratch.overwrite(name, with: #require(before[name])) }
    case .mark: try scratch.flip("mark", at: 50)
    case .missingMark: try FileManager.default.removeItem(atPath: scratch.file("mark"))
    }
    let reader = try open()
    // The first attempt is without the lock; before the second, header and mark are read with it.
    let checks = atSecondOpening(of: "journal") { [scratch] in
      for name in harmed { #expect(unsafe rename(scratch[name], scratch.file(name)) == 0) }
    }
    #expect(try reader.verify().findings == [])
    #expect(checks.value == 3)
    #expect(try reader.text("item") == "old")
  }

  @Test func `a damaged journal is reread only when its length has changed`() throws {
    let journal = try scratch.bytes(of: "journal")
    try scratch.overwrite("journal", with: Array(journal.dropLast(10)))
    let reader = try open()
    disk.setRule(nil)
    for _ in 0..<3 { #expect(try code { _ = try reader.text("item") } == StoreError.corrupt) }
    #expect(disk.count(.open) == 0)
    try scratch.overwrite("journal", with: journal)
    #expect(try reader.text("item") == "old")
  }

  @Test func `the mark of a copy of the store that was written separately is detected`() throws {
    let copy = scratch["copy"]
    try FileManager.default.copyItem(atPath: scratch.path, toPath: copy)
    try SealedFileStore.open(at: copy, key: scratch.key).put("there", as: "item")
    try store.put("here", as: "item")
    let reader = try open()
    #expect(try reader.text("item") == "here")
    // The mark names the end that the reader has read, but with other records.
    try scratch.overwrite("mark", with: #require(RecordedDisk.read(copy)["mark"]))
    try scratch.overwrite("journal", with: scratch.bytes(of: "journal") + [0])
    #expect(try code { _ = try reader.text("item") } == StoreError.corrupt)
  }

  @Test func `a journal that is compacted while it is verified is not damage`() throws {
    let reader = try open()
    disk.setRule(FaultyFileSystem.before(.open, "journal") { [store] in try store.compact() })
    #expect(try reader.verify().findings == [])
    // The mark that was read belongs to the journal two generations back.
    disk.setRule(
      FaultyFileSystem.before(.open, "journal") { [store] in
        for _ in 0..<2 { try store.compact() }
      })
    #expect(try reader.verify().findings == [])
  }

  @Test func `a reader that is slower than compactions sees no damage`() throws {
    let reader = try open()
    let left = Locked(40)
    disk.setRule { [store] call in
      // This is between reading the mark and its journal; two journals later, the head no longer
      // names that mark.
      guard call.kind == .open, call.name == "journal", left.value > 0 else { return nil }
      left.withLock { $0 -= 1 }
      #expect(throws: Never.self) { for _ in 0..<2 { try store.compact() } }
      return nil
    }
    try store.compact()
    #expect(try reader.text("item") == "old")
    #expect(left.value == 0)
  }

  @Test func `a reader that is always slower gives up, and reports no damage`() throws {
    let environment = StoreEnvironment(fileSystem: disk, readingPatience: .milliseconds(50))
    let reader = try scratch.open(environment)
    disk.setRule { [store] call in
      guard call.kind == .open, call.name == "journal" else { return nil }
      #expect(throws: Never.self) { for _ in 0..<2 { try store.compact() } }
      return nil
    }
    try store.compact()
    #expect(try code { _ = try reader.text("item") } == StoreError.timedOut)
    disk.setRule(nil)
    #expect(try reader.text("item") == "old")
  }

  @Test func `a rotation that is finished and compacted while it is read is not damage`() throws {
    let reader = try open()
    let failing = FaultyFileSystem()
    let rotating = try scratch.open(StoreEnvironment(fileSystem: failing))
    failing.setRule { call in
      call.kind == .rename && !call.name.hasPrefix("journal") ? .fail(EIO) : nil
    }
    try rotating.rotate()
    let names = try scratch.names()
    #expect(names.contains("header.next") && !names.contains("journal.next"))
    disk.setRule(
      FaultyFileSystem.before(.open, "mark") { [scratch] in
        let other = try scratch.open()
        try other.put("new", as: "other")
        try other.compact()
      })
    #expect(try reader.text("item") == "old")
    #expect(try reader.text("other") == "new")
  }

  @Test func `a store that is rotated while it is verified is not damaged`() throws {
    let reader = try open()
    disk.setRule(FaultyFileSystem.before(.open, "journal") { [store] in try store.rotate() })
    #expect(try reader.verify().findings == [])
  }

  @Test func `a store whose keys are revoked while it is opened opens with the kept keys`()
    throws
  {
    let kept = try RawKey(RawKey.random(), label: "kept")
    try store.addSlot(kept)
    disk.setRule(
      FaultyFileSystem.before(.open, "journal") { [store] in
        try store.revoke(keeping: [kept]) { _ in true }
      })
    let opened = try SealedFileStore.open(
      at: scratch.path, key: kept, environment: StoreEnvironment(fileSystem: disk))
    #expect(try opened.text("item") == "old")
    #expect(try code { _ = try scratch.open() } == StoreError.wrongKey)
  }
}
