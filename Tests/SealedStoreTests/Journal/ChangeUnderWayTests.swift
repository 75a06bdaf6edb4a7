import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of what other stores see of a change while it is being written.
@Suite(.onOwnThread) struct ChangeUnderWayTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  @Test(arguments: [nil, EIO])
  func `no other store sees a change before it is synced and marked`(failure: Int32?) throws {
    let disk = FaultyFileSystem()
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("one", as: "k1")
    let reader = try scratch.open()
    #expect(try reader.text("k1") == "one")
    let seen = Locked<[[String: String]]>([])
    disk.setRule { call in
      let isCommitting =
        call.kind == .synchronizeData && call.name == "journal"
        || call.kind == .write && call.name == "mark"
      guard isCommitting else { return nil }
      let texts = (try? reader.texts()) ?? [:]
      seen.withLock { $0.append(texts) }
      return call.kind == .synchronizeData ? failure.map { .fail($0) } : nil
    }
    let outcome = try code {
      try store.apply([.put(secret("two"), for: name("k1")), .put(secret("2"), for: name("k2"))])
    }
    disk.setRule(nil)
    #expect(outcome == (failure == nil ? nil : StoreError.outcomeUnknown))
    #expect(seen.value == (failure == nil ? [["k1": "one"], ["k1": "one"]] : [["k1": "one"]]))
    // The reader does not read anything without a mark, so it sees the change after its
    // recovery.
    #expect(try reader.text("k1") == (failure == nil ? "two" : "one"))
    // Another opening recovers it.
    #expect(try scratch.open().texts() == ["k1": "two", "k2": "2"])
    #expect(try reader.text("k1") == "two")
  }

  @Test func `opening during a change waits for it, and sees all of it`() throws {
    let disk = FaultyFileSystem()
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("one", as: "k1")
    let scratch = scratch
    let isOpen = Locked(false)
    disk.setRule { call in
      guard call.kind == .synchronizeData, call.name == "journal" else { return nil }
      let thread = Thread {
        let texts = try? scratch.open().texts()
        #expect(texts == ["k1": "two"])
        isOpen.withLock { $0 = true }
      }
      thread.start()
      Thread.sleep(forTimeInterval: 0.1)
      #expect(isOpen.withLock { !$0 })
      return nil
    }
    try store.put("two", as: "k1")
    try blockingWait(until: "the store is open") { isOpen.value }
  }

  @Test func `opening uses the mark of a change while the next is written behind it`() throws {
    let (disk, watched) = (FaultyFileSystem(), FaultyFileSystem())
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("one", as: "k1")
    let mark = try scratch.bytes(of: "mark")
    try store.put("two", as: "k2")
    // The next change marks this one first, and has the lock until it is written itself.
    try scratch.overwrite("mark", with: mark)
    let (isRecovering, isWaiting) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let (hasEnded, syncCount) = (DispatchSemaphore(value: 0), Locked(0))
    disk.setRule { call in
      guard call.kind == .synchronizeData, call.name == "journal" else { return nil }
      let number = syncCount.withLock { count in
        count += 1
        return count
      }
      if number == 1 {
        isRecovering.signal()
        isWaiting.wait()
      } else if number == 2 {
        hasEnded.wait()
      }
      return nil
    }
    watched.setRule(FaultyFileSystem.before(.lock, "lock") { isWaiting.signal() })
    let scratch = scratch
    try inThreads(2) { number in
      if number == 0 {
        // Even after a failure, neither thread waits forever.
        defer { isRecovering.signal() }
        try store.put("three", as: "k3")
      } else {
        defer { for end in [isWaiting, hasEnded] { end.signal() } }
        isRecovering.wait()
        let opened = try scratch.open(StoreEnvironment(fileSystem: watched))
        #expect(try opened.texts() == ["k1": "one", "k2": "two"])
      }
    }
    #expect(syncCount.value == 2)
    #expect(try store.texts() == ["k1": "one", "k2": "two", "k3": "three"])
  }
}
