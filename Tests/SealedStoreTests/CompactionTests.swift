import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

/// Tests of the automatic compaction of a journal.
@Suite struct CompactionTests {
  let scratch: Scratch
  let disk = FaultyFileSystem()
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create(StoreEnvironment(fileSystem: disk))
  }

  private func byteCount() throws -> Int { try scratch.bytes(of: "journal").count }

  private func compactionCount() -> Int {
    disk.calls.count { $0.kind == .rename && $0.name == "journal" }
  }

  /// Waits for the compaction on another thread.
  private func waitUntilCompacted() async throws {
    try await wait(until: "the journal is compacted") { compactionCount() > 0 }
    // The next write goes to the compacted journal.
    try store.put("behind", as: "behind")
  }

  @Test func `compacting returns the number of freed bytes, 0 for a journal that grew`() throws {
    #expect(try store.compact() == 0)
    for value in ["1", "2"] { try store.put(value, as: "item") }
    #expect(try store.compact() > 0)
    #expect(try store.compact() == 0)
  }

  @Test func `a rewriting keeps the times at which items were put`() throws {
    let before = Date()
    for item in ["old", "new"] { try store.put("1", as: item) }
    let first = try store.timesOfChange()
    #expect(first.values.allSatisfy { $0 > before - 0.001 && $0 <= Date() })
    // The clock has whole milliseconds.
    Thread.sleep(forTimeInterval: 0.002)
    try store.put("2", as: "new")
    let times = try store.timesOfChange()
    #expect(try times[name("old")] == first[name("old")])
    let (again, earlier) = (try #require(times[name("new")]), try #require(first[name("new")]))
    #expect(again > earlier)
    try store.compact()
    #expect(try store.timesOfChange() == times)
    try store.rotate()
    #expect(try store.timesOfChange() == times)
    #expect(try scratch.open().timesOfChange() == times)
  }

  @Test func `more than 16 MiB of superseded records are freed, but no newest value`()
    async throws
  {
    let value = String(repeating: "v", count: 1_000_000)
    try store.put("small", as: "kept")
    for round in 0..<18 { try store.put("\(round)\(value)", as: "large") }
    try await waitUntilCompacted()
    #expect(try byteCount() < 4_000_000)
    let reopened = try scratch.open()
    #expect(try reopened.text("large") == "17\(value)")
    #expect(try reopened.text("kept") == "small")
    #expect(try reopened.verify().findings == [])
    #expect(try scratch.names() == storeFiles)
  }

  @Test func `after a thousand changes more than 1 MiB of superseded records is freed`()
    async throws
  {
    let value = String(repeating: "v", count: 1100)
    for round in 0..<999 { try store.put("\(round)\(value)", as: "item") }
    #expect(try byteCount() > 1 << 20)
    #expect(compactionCount() == 0)
    try store.put("1000th", as: "item")
    try await waitUntilCompacted()
    #expect(try byteCount() < 1000)
    #expect(try scratch.open().text("item") == "1000th")
  }

  @Test func `a journal of which one half is superseded is not compacted yet`() async throws {
    let value = SecretBytes([UInt8](repeating: 7, count: 16 << 20))
    try await store.put(value, for: name("item"))
    let recordByteCount = try byteCount() - 88
    #expect(recordByteCount > 16 << 20)
    try await store.put(value, for: name("item"))
    try await Task.sleep(for: .milliseconds(200))
    #expect(compactionCount() == 0)
    try await store.put(value, for: name("item"))
    try await wait(until: "the journal is compacted") { compactionCount() > 0 }
    // The new journal is marked a moment later.
    try await wait(until: "nothing is left to do") {
      try scratch.open().verify().findings == []
    }
    #expect(try byteCount() == 88 + recordByteCount)
  }

  @Test func `the change that makes a compaction due returns before it`() async throws {
    let mayCompact = Locked(false)
    let hasBegun = Locked(false)
    disk.setRule { call in
      guard call.kind == .open, call.name == "journal.next" else { return nil }
      hasBegun.withLock { $0 = true }
      #expect(throws: Never.self) {
        try blockingWait(until: "it may compact") { mayCompact.value }
      }
      return nil
    }
    let value = SecretBytes([UInt8](repeating: 7, count: 9 << 20))
    for _ in 0..<3 { try await store.put(value, for: name("item")) }
    // The put has returned, and the compaction begins on another thread; reads work meanwhile.
    try await wait(until: "a compaction begins") { hasBegun.value }
    #expect(compactionCount() == 0)
    let meanwhile = try await store.value(for: name("item"))
    #expect(meanwhile == value)
    mayCompact.withLock { $0 = true }
    try await waitUntilCompacted()
    let after = try await scratch.open().value(for: name("item"))
    #expect(after == value)
  }

  @Test func `a journal that another handle compacted meanwhile is not rewritten again`()
    async throws
  {
    let other = try scratch.open()
    let value = SecretBytes([UInt8](repeating: 7, count: 9 << 20))
    for _ in 0..<2 { try await store.put(value, for: name("item")) }
    let (locks, hasCompacted) = (Locked(0), Locked(false))
    disk.setRule { call in
      guard call.kind == .lock else { return nil }
      let isCompaction = locks.withLock { locks in
        locks += 1
        return locks == 2
      }
      guard isCompaction else { return nil }
      #expect(throws: Never.self) { try other.compact() }
      hasCompacted.withLock { $0 = true }
      return nil
    }
    try await store.put(value, for: name("item"))
    try await wait(until: "another handle has compacted") { hasCompacted.value }
    // By then the due compaction has had the lock of this store's writer.
    try store.put("behind", as: "behind")
    #expect(compactionCount() == 0)
    #expect(try scratch.open().verify().findings == [])
  }

  @Test func `locking compacts a small journal with 256 KiB of superseded records`() throws {
    let value = String(repeating: "v", count: 50_000)
    // The last record is current, and so few bytes do not matter while the store is open.
    for round in 0..<6 { try store.put("\(round)\(value)", as: "item") }
    let recordByteCount = (try byteCount() - 88) / 6
    #expect(5 * recordByteCount < 256 << 10)
    store.lock()
    #expect(try byteCount() == 88 + 6 * recordByteCount)

    try store.unlock(with: scratch.key)
    try store.put("6\(value)", as: "item")
    #expect(6 * recordByteCount > 256 << 10)
    #expect(compactionCount() == 0)
    store.lock()
    // The journal is compacted immediately, not after `lock` has returned.
    #expect(try byteCount() == 88 + recordByteCount)
    #expect(store.isLocked)
    #expect(try scratch.open().text("item") == "6\(value)")
    #expect(try scratch.open().verify().findings == [])
  }

  @Test func `locking compacts nothing while less than half is superseded`() throws {
    let value = SecretBytes([UInt8](repeating: 7, count: 1 << 20))
    for identifier in ["a", "b", "b"] { try store.put(value, for: name(identifier)) }
    let before = try byteCount()
    store.lock()
    #expect(try byteCount() == before)
    #expect(compactionCount() == 0)
  }

  @Test(arguments: [false, true])
  func `locking does not wait for another process that writes`(isAnotherThreadWaiting: Bool)
    throws
  {
    for _ in 0..<2 {
      try store.put(SecretBytes([UInt8](repeating: 7, count: 300_000)), for: name("item"))
    }
    try store.remove(name("item"))
    let before = try byteCount()
    let lock = LockFile(try PrivateDirectory(scratch.path, fileSystem: LinuxFileSystem()))
    let held = try lock.lock(byte: LockFile.writerByte, timeout: .seconds(1))
    let (isLocked, isRefused) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let store = store
    disk.setRule(nil)
    if isAnotherThreadWaiting {
      Thread {
        #expect(throws: StoreError.self) { try store.put("2", as: "item") }
        isRefused.signal()
      }.start()
      try blockingWait(until: "the other thread waits") { disk.count(.lock) > 0 }
    }
    Thread {
      store.lock()
      isLocked.signal()
    }.start()
    #expect(isLocked.wait(timeout: .now() + 10) == .success)
    #expect(store.isLocked)
    held.unlock()
    if isAnotherThreadWaiting { isRefused.wait() }
    #expect(try byteCount() == before)
  }

  @Test func `compactions that become due while one runs are made as one after it`() async throws {
    let compaction = BackgroundCompaction()
    let mayEnd = DispatchSemaphore(value: 0)
    let (begun, running) = (Locked(0), Locked(0))
    let body: @Sendable () -> Void = {
      let others = running.withLock { count in
        defer { count += 1 }
        return count
      }
      #expect(others == 0)
      let isFirst = begun.withLock { count in
        count += 1
        return count == 1
      }
      if isFirst { mayEnd.wait() }
      running.withLock { $0 -= 1 }
    }
    compaction.schedule(body)
    try await wait(until: "the first one runs") { begun.value == 1 }
    for _ in 0..<20 { compaction.schedule(body) }
    mayEnd.signal()
    let isOver = Locked(false)
    try await wait(until: "a later one has run") {
      compaction.schedule { isOver.withLock { $0 = true } }
      return isOver.value
    }
    #expect(begun.value == 2)
  }

  @Test func `locking a store that cannot be compacted still wipes its keys`() throws {
    let notices = Notices()
    let store = try scratch.open(StoreEnvironment(fileSystem: disk), onNotice: notices)
    for _ in 0..<2 {
      try store.put(SecretBytes([UInt8](repeating: 7, count: 300_000)), for: name("item"))
    }
    try store.remove(name("item"))
    disk.setRule { $0.kind == .open && $0.name == "journal.next" ? .fail(ENOSPC) : nil }
    store.lock()
    #expect(store.isLocked)
    #expect(notices.all.count { if case .compactionFailed = $0 { true } else { false } } == 1)
    disk.setRule(nil)
    #expect(try scratch.open().verify().findings == [])
  }
}
