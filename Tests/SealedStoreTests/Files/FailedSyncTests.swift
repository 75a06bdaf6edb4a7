import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

@Suite struct FailedSyncTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  @Test func `a sync that failed is never repeated on the same open file`() throws {
    let disk = FaultyFileSystem()
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("old", as: "item")
    disk.setRule { $0.kind == .synchronizeData ? .fail(EIO) : nil }
    let error = try error { try store.put("new", as: "item") }
    #expect(error.code == .outcomeUnknown)
    #expect(error.errno == EIO)
    let failed = try #require(disk.calls.last { $0.kind == .synchronizeData }?.opening)

    disk.setRule(nil)
    let value = try store.text("item")
    #expect(value == "old" || value == "new")
    try store.put("newer", as: "item")
    try store.put("newest", as: "item")
    #expect(!disk.calls.contains { $0.kind == .synchronizeData && $0.opening == failed })
    #expect(disk.count(.synchronizeData) >= 2)
    #expect(try store.text("item") == "newest")
    #expect(try scratch.open().verify().findings == [])
    #expect(disk.openNames.filter { $0 == "journal" }.count == 1)
  }

  @Test func `a truncation whose sync failed is repeated through another open file`() throws {
    let disk = FaultyFileSystem()
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("old", as: "item")
    disk.setRule { call in
      switch call.kind {
      case .write: .fail(ENOSPC)
      case .synchronizeData: .fail(EIO)
      default: nil
      }
    }
    #expect(try code { try store.put("new", as: "item") } == StoreError.noSpace)
    let failed = try #require(disk.calls.last { $0.kind == .synchronizeData }?.opening)
    disk.setRule(nil)
    try store.put("newer", as: "item")
    #expect(!disk.calls.contains { $0.kind == .synchronizeData && $0.opening == failed })
    #expect(disk.count(.synchronizeData) == 1)
    #expect(try scratch.open().verify().findings == [])
  }

  @Test func `after a change that failed and was cut off the journal stays open`() throws {
    let disk = FaultyFileSystem()
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("old", as: "item")
    disk.setRule { $0.kind == .write ? .fail(ENOSPC) : nil }
    #expect(try code { try store.put("new", as: "item") } == StoreError.noSpace)
    disk.setRule(nil)
    try store.put("newer", as: "item")
    #expect(!disk.calls.contains { $0.kind == .open && $0.name == "journal" })
    #expect(try store.text("item") == "newer")
  }

  @Test func `a change confirmed after a failed sync survives a power cut`() throws {
    // The kernel treats the pages of a failed sync as clean: the next sync does not write them.
    let disk = RecordingFileSystem(scratch.path)
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("1", as: "before")
    disk.failNextSynchronization()
    #expect(try code { try store.put("2", as: "lost") } == StoreError.outcomeUnknown)
    let isThere = try store.contains(name("lost"))
    try store.put("3", as: "after")

    var recorded = RecordedDisk()
    for step in disk.steps { recorded.perform(step) }
    try recorded.forEachCrash(CrashLimits(complete: 2000, chosen: 0), seed: 1) { crash in
      let content = try #require(crash.content)
      let environment = StoreEnvironment(fileSystem: try MemoryFileSystem("/store", content))
      let opened = try SealedFileStore.open(
        at: "/store", key: scratch.key, environment: environment)
      #expect(try opened.text("before") == "1", "\(crash.summary)")
      #expect(try opened.text("after") == "3", "\(crash.summary)")
      #expect(try opened.contains(name("lost")) == isThere, "\(crash.summary)")
      #expect(try opened.verify().isSound)
    }
  }

  @Test func `a failed sync fails every change that waited for it, but no later change`() throws {
    let disk = FaultyFileSystem()
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    let hasFailed = Locked(false)
    disk.setRule { call in
      guard call.kind == .synchronizeData else { return nil }
      return hasFailed.withLock { hasFailed in
        defer { hasFailed = true }
        return hasFailed ? nil : .fail(EIO)
      }
    }
    let outcomes = Locked<[String: StoreError.Code?]>([:])
    try inThreads(8) { thread in
      for number in 0..<20 {
        let outcome = try code { try store.put("value", as: "\(thread)/\(number)") }
        outcomes.withLock { $0["\(thread)/\(number)"] = .some(outcome) }
      }
    }
    let failures = outcomes.value.filter { $0.value != nil }
    #expect((1...8).contains(failures.count))
    #expect(failures.values.allSatisfy { $0 == StoreError.outcomeUnknown })
    for (identifier, outcome) in outcomes.value where outcome == nil {
      #expect(try store.text(identifier) == "value")
    }
  }

  @Test(arguments: ["compact", "rotate", "addSlot"])
  func `a directory that cannot be synced makes the outcome unknown and the store usable`(
    operation: String
  ) throws {
    let disk = FaultyFileSystem()
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("1", as: "item")
    try store.put("2", as: "item")
    let renames = Locked(0)
    disk.setRule { call in
      if call.kind == .rename { renames.withLock { $0 += 1 } }
      let isFirst = renames.value == 1
      return call.kind == .synchronize && isFirst && call.name.hasSuffix("store") ? .fail(EIO) : nil
    }
    let outcome = try code {
      switch operation {
      case "compact": try store.compact()
      case "rotate": try store.rotate()
      default: try store.addSlot(RawKey(RawKey.random(), label: "second"))
      }
    }
    #expect(outcome == StoreError.outcomeUnknown)
    disk.setRule(nil)
    #expect(try store.text("item") == "2")
    try store.put("3", as: "item")
    #expect(try scratch.open().text("item") == "3")
    #expect(try store.verify().findings == [])
    #expect(try scratch.names() == storeFiles)
  }

  /// Some file systems report an error for a call that succeeded.
  @Test(arguments: ["compact", "rotate", "revoke", "repair"])
  func `a rename that happens but reports an error gives an unknown outcome and keeps all items`(
    operation: String
  ) throws {
    let disk = FaultyFileSystem()
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("1", as: "item")
    try store.put("2", as: "item")
    if operation == "repair" {
      try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.chainValue)
    }
    let scratch = scratch
    disk.setRule { call in
      guard call.kind == .rename, call.name == "journal" else { return nil }
      #expect(unsafe rename(scratch.file("journal.next"), scratch.file("journal")) == 0)
      return .fail(EIO)
    }
    let outcome = try code {
      switch operation {
      case "compact": try store.compact()
      case "rotate": try store.rotate()
      case "revoke": try store.revoke(keeping: [scratch.key]) { _ in true }
      default: _ = try store.repair()
      }
    }
    #expect(outcome == StoreError.outcomeUnknown)
    disk.setRule(nil)
    #expect(try store.text("item") == "2")
    #expect(try scratch.open().texts() == ["item": "2"])
    try store.put("3", as: "item")
    #expect(try scratch.open().texts() == ["item": "3"])
    #expect(try store.verify().findings.allSatisfy { $0.part == .files })
    #expect(try scratch.names().filter { !$0.hasPrefix("damaged-") } == storeFiles)
  }

  /// The syncs before the change belong to recovery, a new journal's name, and equal headers.
  @Test(arguments: [("journal", 1), ("store", 1), ("store", 2)])
  func `a sync that fails before a change gives a definite error`(
    name suffix: String, number: Int
  ) throws {
    let store = try scratch.create()
    try store.put("old", as: "item")
    let disk = FaultyFileSystem()
    let writer = try scratch.open(StoreEnvironment(fileSystem: disk))
    let mark = try scratch.bytes(of: "mark")
    try store.put("recovered", as: "other")
    try scratch.overwrite("mark", with: mark)
    try scratch.flip("header.copy", at: 40)
    let count = Locked(0)
    disk.setRule { call in
      guard call.kind == .synchronizeData || call.kind == .synchronize, call.name.hasSuffix(suffix)
      else { return nil }
      let isIt = count.withLock {
        $0 += 1
        return $0 == number
      }
      return isIt ? .fail(EIO) : nil
    }
    let failure = try error { try writer.put("new", as: "item") }
    #expect(failure.code == .io)
    #expect(failure.errno == EIO)
    #expect(count.value == number)
    #expect(try scratch.open().texts() == ["item": "old", "other": "recovered"])
    disk.setRule(nil)
    try writer.put("newer", as: "item")
    #expect(try scratch.open().texts() == ["item": "newer", "other": "recovered"])
    #expect(try writer.verify().findings == [])
    // The change's own sync fails in the same way.
    disk.setRule { $0.kind == .synchronizeData ? .fail(EIO) : nil }
    #expect(try code { try writer.put("new", as: "item") } == StoreError.outcomeUnknown)
  }
}
