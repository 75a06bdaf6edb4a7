import Dispatch
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

@Suite struct LockingTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    try store.put("value", as: "item")
  }

  @Test func `every operation that needs keys reports that the store is locked`() throws {
    let before = try RecordedDisk.read(scratch.path)
    store.lock()
    #expect(store.isLocked)
    let item = try name("item")
    let attempts: [(String, () throws -> Void)] = [
      ("value", { _ = try store.value(for: item) }),
      ("value of nothing", { _ = try store.value(for: name("absent")) }),
      ("contains", { _ = try store.contains(item) }),
      ("names", { _ = try store.names(in: nil) }),
      ("put", { try store.put("new", as: "item") }),
      ("remove", { try store.remove(item) }),
      ("compact", { try store.compact() }),
      ("rotate", { try store.rotate() }),
      ("revoke", { try store.revoke(keeping: [scratch.key]) { _ in true } }),
      ("verify", { _ = try store.verify() }),
      ("repair", { _ = try store.repair() }),
      ("addSlot", { try store.addSlot(scratch.key) }),
      ("changeSlot", { try store.changeSlot(1, to: scratch.key) }),
      ("removeSlot", { try store.removeSlot(1) }),
      ("exclusive access", { try store.withExclusiveAccess(to: item, timeout: .seconds(1)) {} }),
    ]
    for (operation, attempt) in attempts {
      #expect(try code(attempt) == StoreError.locked, "\(operation)")
    }
    #expect(try RecordedDisk.read(scratch.path) == before)
  }

  @Test func `operations that need no key work while the store is locked`() throws {
    store.lock()
    #expect(try store.keySlots().count == 1)
    #expect(store.traits.isAtomic)
    #expect(!store.isKeyMemoryLocked)
    store.lock()
    #expect(store.isLocked)
  }

  /// The caller can then rely on no key being in use.
  @Test func `locking returns only when a read in progress has ended`() throws {
    let (isReading, mayRead) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let isLocked = DispatchSemaphore(value: 0)
    let disk = FaultyFileSystem()
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    disk.setRule { call in
      guard call.kind == .read, call.name == "journal" else { return nil }
      isReading.signal()
      mayRead.wait()
      return nil
    }
    try inThreads(3) { number in
      switch number {
      case 0:
        let text = try store.text("item")
        #expect(text == "value")
      case 1:
        isReading.wait()
        store.lock()
        isLocked.signal()
      default:
        #expect(isLocked.wait(timeout: .now() + 0.2) == .timedOut)
        mayRead.signal()
      }
    }
    #expect(isLocked.wait(timeout: .now()) == .success)
  }

  @Test func `locking waits for a read that began before the journal was reread`() throws {
    let other = try scratch.open()
    let isLocked = DispatchSemaphore(value: 0)
    let disk = FaultyFileSystem()
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    disk.setRule(
      FaultyFileSystem.before(.read, "journal") {
        try other.compact()
        #expect(try store.contains(name("item")))
        Thread {
          store.lock()
          isLocked.signal()
        }.start()
        let isTooEarly = isLocked.wait(timeout: .now() + 0.2) == .success
        #expect(!isTooEarly)
        if isTooEarly { isLocked.signal() }
      })
    #expect(try store.text("item") == "value")
    isLocked.wait()
    #expect(store.isLocked)
    disk.setRule(nil)
  }

  @Test func `only the right key unlocks, and then changes by others are visible`() throws {
    let other = try scratch.open()
    store.lock()
    try other.put("new", as: "item")
    try other.rotate()
    let wrong = try RawKey(RawKey.random())
    #expect(try code { try store.unlock(with: wrong) } == StoreError.wrongKey)
    #expect(store.isLocked)
    #expect(try code { _ = try store.text("item") } == StoreError.locked)
    try store.unlock(with: scratch.key)
    #expect(!store.isLocked)
    #expect(try store.text("item") == "new")
    try store.put("newer", as: "item")
    #expect(try other.text("item") == "newer")
  }

  @Test func `unlocking reports no more than opening did`() throws {
    let notices = Notices()
    let store = try scratch.open(onNotice: notices)
    store.lock()
    try store.unlock(with: scratch.key)
    #expect(notices.all == [])
  }

  @Test func `unlocking an open store does not use the key source`() throws {
    try store.unlock(with: RawKey(RawKey.random()))
    #expect(try store.text("item") == "value")
  }

  @Test func `locking one handle leaves another handle open`() throws {
    let other = try scratch.open()
    store.lock()
    #expect(try other.text("item") == "value")
    try other.put("new", as: "item")
  }

  @Test func `locking while others read and write loses no confirmed change`() throws {
    let confirmed = Locked<Set<String>>([])
    let refused = Locked(0)
    try inThreads(6) { thread in
      for number in 0..<60 {
        let identifier = "\(thread)/\(number)"
        let outcome = try code {
          if thread == 5 {
            store.lock()
            try store.unlock(with: scratch.key)
          } else {
            try store.put("value", as: identifier)
            guard try store.text(identifier) == "value" else {
              Issue.record("\(identifier) is missing")
              return
            }
          }
        }
        switch outcome {
        case nil where thread < 5: confirmed.withLock { _ = $0.insert(identifier) }
        case nil: break
        case StoreError.locked?: refused.withLock { $0 += 1 }
        case let other?: Issue.record("\(other)")
        }
      }
    }
    try store.unlock(with: scratch.key)
    for identifier in confirmed.value {
      #expect(try store.text(identifier) == "value")
    }
    #expect(try scratch.open().verify().findings == [])
  }

  @Test func `unlocking that read old files does not disturb a compaction in progress`() throws {
    let other = try scratch.open()
    let disk = FaultyFileSystem()
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    store.lock()
    let (hasRead, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let isUnlocked = DispatchSemaphore(value: 0)
    disk.setRule(
      FaultyFileSystem.before(.read, "journal") {
        hasRead.signal()
        mayGoOn.wait()
      })
    let key = scratch.key
    Thread {
      #expect(throws: Never.self) { try store.unlock(with: key) }
      isUnlocked.signal()
    }.start()
    hasRead.wait()
    // The journal that it has open is no longer in use.
    try other.compact()
    try other.put("new", as: "item")
    disk.setRule(nil)
    try store.unlock(with: scratch.key)
    disk.setRule(
      FaultyFileSystem.before(.synchronize, "mark") {
        // Locking waits for the compaction, which uses the keys.
        Thread { store.lock() }.start()
        #expect(throws: Never.self) {
          try blockingWait(until: "the store is locked") { store.isLocked }
        }
        mayGoOn.signal()
        let isTooEarly = isUnlocked.wait(timeout: .now() + 0.2) == .success
        #expect(!isTooEarly)
        if isTooEarly { isUnlocked.signal() }
      })
    #expect(try code { try store.compact() } == StoreError.locked)
    isUnlocked.wait()
    disk.setRule(nil)
    #expect(try store.text("item") == "new")
    #expect(try scratch.open().text("item") == "new")
    #expect(try scratch.open().verify().findings == [])
    #expect(try scratch.names().subtracting(["journal.next"]) == storeFiles)
    try store.put("newer", as: "item")
    #expect(try scratch.open().text("item") == "newer")
  }

  @Test func `exclusive access that was taken before locking ends as usual`() throws {
    let name = try name("item")
    try store.withExclusiveAccess(to: name, timeout: .seconds(1)) {
      store.lock()
    }
    try store.unlock(with: scratch.key)
    try store.withExclusiveAccess(to: name, timeout: .zero) {}
  }
}
