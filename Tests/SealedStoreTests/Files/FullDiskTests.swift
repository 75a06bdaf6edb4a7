import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct FullDiskTests {
  let scratch: Scratch
  let disk: FaultyFileSystem
  let store: SealedFileStore
  let large = SecretBytes([UInt8](repeating: 5, count: 100_000))

  init() throws {
    scratch = try Scratch()
    disk = FaultyFileSystem()
    store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("old", as: "item")
    try store.put("other", as: "other")
  }

  static let partialWrites: [[Int]] = [[], [0], [1], [47], [48], [1000, 4096], [99_000, 1, 1]]

  @Test(arguments: partialWrites)
  func `a disk that fills up in the midst of a change leaves the old values`(parts: [Int]) throws {
    let journal = try scratch.bytes(of: "journal")
    let rest = Locked(parts)
    disk.setRule { call in
      guard call.kind == .write else { return nil }
      // A kernel never writes 0 bytes to a file without an error.
      return rest.withLock { $0.isEmpty ? .fail(ENOSPC) : .short($0.removeFirst()) }
    }
    let code = try code {
      try store.apply([
        .put(large, for: name("item")), .remove(name("other")), .put(large, for: name("new")),
      ])
    }
    #expect(code == (parts == [0] ? StoreError.io : StoreError.noSpace))
    #expect(try scratch.bytes(of: "journal") == journal)
    #expect(try store.text("item") == "old")
    #expect(try store.text("other") == "other")
    #expect(try store.text("new") == nil)
    disk.setRule(nil)
    try store.put("new", as: "item")
    #expect(try scratch.open().text("item") == "new")
    #expect(try scratch.open().verify().findings == [])
  }

  private struct Token: Codable, Sendable {
    var number = 0
    var padding = ""
  }

  /// What the server issues could not be stored, and would be lost with the process.
  @Test(arguments: [0, 30_000])
  func `no token is sent while there is no room for another one`(_ padding: Int) async throws {
    let sent = Locked(0)
    let session = UserSession(
      container: try StoreContainer<Token>(store, service: "mail"), storageIdentifier: "login",
      refresher: SessionRefresher<Token>(
        expiration: { $0.number == 0 ? .distantPast : nil }
      ) { request in
        sent.withLock { $0 += 1 }
        return .refreshed(Token(number: request.item.number + 1))
      })
    try await session.signIn(Token(padding: String(repeating: "p", count: padding)))
    disk.setRule { $0.kind == .write && $0.name == "." ? .fail(ENOSPC) : nil }
    var code: StoreError.Code?
    do { _ = try await session.validItem() } catch { code = (error as? StoreError)?.code }
    // The reserve behind the journal is enough for a small one.
    #expect(code == (padding == 0 ? nil : .noSpace))
    #expect(sent.value == (padding == 0 ? 1 : 0))
    disk.setRule(nil)
    #expect(try await session.validItem().number == 1)
  }

  @Test func `a limit on the size of files counts as no space, and smaller changes work`() throws {
    disk.setRule { $0.kind == .write && $0.byteCount > 50_000 ? .fail(EFBIG) : nil }
    let error = try error { try store.put(large, for: name("item")) }
    #expect(error.code == .noSpace)
    #expect(error.remedy?.contains("ulimit -f") == true)
    #expect(try store.text("item") == "old")
    try store.put("new", as: "item")
    #expect(try scratch.open().text("item") == "new")
  }

  @Test func `a change that could not even be cut off counts for nothing and is dropped later`()
    throws
  {
    let isFull = Locked(false)
    // EROFS is the error after the kernel has made a file system read-only because of an error.
    let whyNoCut = Locked(EROFS)
    disk.setRule { call in
      switch call.kind {
      case .write:
        isFull.withLock { isFull in
          defer { isFull = true }
          return isFull ? .fail(EDQUOT) : .short(50_000)
        }
      case .truncate: .fail(whyNoCut.value)
      default: nil
      }
    }
    #expect(try code { try store.put(large, for: name("item")) } == StoreError.noSpace)
    for store in [store, try scratch.open(StoreEnvironment(fileSystem: disk))] {
      #expect(try store.text("item") == "old")
      #expect(try store.verify().findings == [])
    }
    // An error other than a lack of space or permission is not ignored.
    whyNoCut.withLock { $0 = EIO }
    #expect(
      try code { _ = try scratch.open(StoreEnvironment(fileSystem: disk)) } == StoreError.io)
    disk.setRule(nil)
    let notices = Notices()
    let writer = try scratch.open(onNotice: notices)
    #expect(notices.all == [.unfinishedWriteDropped(byteCount: 50_000)])
    #expect(try writer.text("item") == "old")
    try store.put("new", as: "item")
    #expect(try scratch.names() == storeFiles)
    #expect(try scratch.open().text("item") == "new")
    #expect(try store.verify().findings == [])
  }

  @Test(arguments: [(231, StoreError.noSpace, "old"), (232, StoreError.outcomeUnknown, "new")])
  func `a change that was not cut off has an unknown outcome if it was written completely`(
    byteCount: Int, expected: StoreError.Code, value: String
  ) throws {
    // A change behind a compacted journal is written with a reserve, for which there is no space.
    try store.compact()
    let isFull = Locked(false)
    disk.setRule { call in
      switch call.kind {
      case .write:
        isFull.withLock { isFull in
          defer { isFull = true }
          return isFull ? .fail(ENOSPC) : .short(byteCount)
        }
      case .truncate: .fail(EIO)
      default: nil
      }
    }
    #expect(try code { try store.put("new", as: "item") } == expected)
    disk.setRule(nil)
    #expect(try store.text("item") == value)
    #expect(try scratch.open().text("item") == value)
  }

  @Test func `the remains of a write are dropped even without space for a reserve`() throws {
    let journal = try scratch.bytes(of: "journal")
    try scratch.overwrite("journal", with: journal + [UInt8](repeating: 0xA1, count: 300))
    disk.setRule { $0.kind == .write && $0.byteCount > 1000 ? .fail(ENOSPC) : nil }
    let notices = Notices()
    let opened = try scratch.open(StoreEnvironment(fileSystem: disk), onNotice: notices)
    #expect(notices.all == [.unfinishedWriteDropped(byteCount: 300)])
    // A void change is in their place.
    let byteCount = journal.count + JournalLayout.shortRecordByteCount
    #expect(try scratch.bytes(of: "journal").count == byteCount)
    try opened.put("new", as: "item")
    #expect(try scratch.open().texts() == ["item": "new", "other": "other"])
  }

  @Test func `operations that make new files change nothing when the disk is full`() throws {
    let before = try RecordedDisk.read(scratch.path)
    disk.setRule { $0.kind == .write ? .fail(ENOSPC) : nil }
    #expect(try code { try store.compact() } == StoreError.noSpace)
    #expect(try code { try store.rotate() } == StoreError.noSpace)
    #expect(try code { try store.addSlot(RawKey(RawKey.random())) } == StoreError.noSpace)
    #expect(
      try code { try store.revoke(keeping: [scratch.key]) { _ in true } } == StoreError.noSpace)
    #expect(try RecordedDisk.read(scratch.path) == before)
    // The store still has its keys.
    #expect(try store.text("item") == "old")
    disk.setRule(nil)
    try store.rotate()
    #expect(try scratch.open().text("item") == "old")
  }

  @Test func `a new journal that cannot replace the old one is removed`() throws {
    let before = try RecordedDisk.read(scratch.path)
    disk.setRule { $0.kind == .rename ? .fail(ENOSPC) : nil }
    #expect(try code { try store.compact() } == StoreError.noSpace)
    #expect(try RecordedDisk.read(scratch.path) == before)
    #expect(try store.text("item") == "old")
  }

  /// The call that fails is either the first of a compaction or the one that makes it count.
  @Test(arguments: [(FaultyFileSystem.Call.Kind.open, "journal.next"), (.rename, "journal")])
  func `a compaction that does not fit is reported, fails no change, and is retried`(
    kind: FaultyFileSystem.Call.Kind, name file: String
  ) throws {
    let notices = Notices()
    let writer = try scratch.open(StoreEnvironment(fileSystem: disk), onNotice: notices)
    func failureCount() -> Int {
      notices.all.count { if case .compactionFailed = $0 { true } else { false } }
    }
    func putLarge(_ count: Int) throws(StoreError) {
      for number in 0..<count { try writer.put(large, for: name("item \(number % 2)")) }
      writer.waitForCompaction()
    }
    disk.setRule { $0.kind == kind && $0.name == file ? .fail(ENOSPC) : nil }
    while failureCount() == 0 { try putLarge(1) }
    #expect(failureCount() == 1)
    for _ in 0..<10 { try writer.put("short", as: "item") }
    writer.waitForCompaction()
    #expect(failureCount() == 1)
    // It is retried when another 256 KiB can be freed.
    try putLarge(3)
    #expect(failureCount() == 2)
    disk.setRule(nil)
    try putLarge(3)
    #expect(try scratch.bytes(of: "journal").count < 2_500_000)
    #expect(try scratch.open().verify().findings == [])
  }

  @Test func `a store that could not be created for lack of space can be created later`()
    throws
  {
    let scratch = try Scratch()
    disk.setRule { $0.kind == .write ? .fail(ENOSPC) : nil }
    #expect(
      try code { _ = try scratch.create(StoreEnvironment(fileSystem: disk)) } == StoreError.noSpace)
    disk.setRule(nil)
    try scratch.create(StoreEnvironment(fileSystem: disk)).put("value", as: "item")
  }

  /// Whether a process on this machine can mount its own file system.
  static let canMount =
    (try? run("unshare", "-rm", "mount", "-t", "tmpfs", "t", "/mnt").status) == 0

  @Test(.enabled(if: canMount, "needs unshare and a tmpfs"))
  func `a store on a real full file system loses nothing and works again with space`() throws {
    let mount = "mount -t tmpfs -o size=1m,mode=700 tmpfs \"$0\" && exec \"$@\""
    let place = scratch["small"]
    try FileManager.default.createDirectory(
      atPath: place, withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let worker = try Worker(
      "fill", place, "\(place)/key", under: ["unshare", "-rm", "sh", "-c", mount, place])
    let lines = worker.lines()
    #expect(worker.wait() == 0)
    #expect(
      lines == [
        "full noSpace", "confirmed values kept", "compact noSpace", "rotate noSpace",
        "slot noSpace",
        "verified", "works again", "verified",
      ])
  }
}
