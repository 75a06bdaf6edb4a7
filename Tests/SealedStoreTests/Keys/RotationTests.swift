import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

@Suite struct RotationTests {
  let scratch: Scratch
  let store: SealedFileStore
  let second: RawKey

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    second = try RawKey(RawKey.random(), label: "second")
    try store.addSlot(second)
    for number in 0..<20 { try store.put("\(number)", as: "item \(number)") }
    try store.remove(name("item 3"))
  }

  private func opens(_ key: some KeySource) throws -> StoreError.Code? {
    try code {
      let opened = try SealedFileStore.open(at: scratch.path, key: key)
      #expect(try opened.names(in: nil).count == 19)
      #expect(try opened.text("item 7") == "7")
    }
  }

  @Test func `a rotated store has all of its items and slots, and none of its old files`()
    throws
  {
    let before = try RecordedDisk.read(scratch.path)
    try store.rotate()
    let after = try RecordedDisk.read(scratch.path)
    #expect(after["journal"] != before["journal"])
    #expect(after["header"] != before["header"])
    #expect(after["header"] == after["header.copy"])
    #expect(try scratch.names() == storeFiles)
    #expect(try opens(scratch.key) == nil)
    #expect(try opens(second) == nil)
    #expect(try store.text("item 7") == "7")
    #expect(try store.text("item 3") == nil)
    #expect(try store.verify().findings == [])
    #expect(try SealedFileStore.identifier(at: scratch.path).count == 32)
  }

  @Test func `the old header does not open the rotated journal`() throws {
    let old = try scratch.bytes(of: "header")
    try store.rotate()
    try scratch.overwrite("header", with: old)
    try scratch.overwrite("header.copy", with: old)
    let opened = try scratch.open()
    #expect(try code { _ = try opened.value(for: name("item 7")) } == StoreError.corrupt)
    #expect(try code { _ = try opened.names(in: nil) } == StoreError.corrupt)
    #expect(try !opened.verify().isSound)
  }

  @Test func `a handle that is open during a rotation continues to read and write`() throws {
    let other = try scratch.open()
    #expect(try other.text("item 7") == "7")
    for round in 0..<3 {
      try store.rotate()
      #expect(try other.text("item 7") == "7")
      #expect(try other.names(in: nil).count == 19)
      try other.put("\(round)", as: "item 8")
      #expect(try store.text("item 8") == "\(round)")
      try other.rotate()
      #expect(try store.text("item 8") == "\(round)")
    }
    #expect(try opens(second) == nil)
  }

  /// A rotation wipes the old keys once they are unused, and holds the lock for which the
  /// verification waits.
  @Test(arguments: [false, true])
  func `a verification that waits for a rotation does not block it`(isRevocation: Bool) throws {
    let disk = FaultyFileSystem()
    let (store, scratch) = (try scratch.open(StoreEnvironment(fileSystem: disk)), scratch)
    let end = try scratch.bytes(of: "journal").count
    let hasChecked = DispatchSemaphore(value: 0)
    let isDone = DispatchSemaphore(value: 0)
    let hasBegun = Locked(false)
    disk.setRule { call in
      if call.kind == .read, call.name == "journal", call.range.lowerBound == end,
        hasBegun.value
      {
        hasChecked.signal()
      }
      guard call.kind == .synchronize, call.name == "journal.next" else { return nil }
      // Only the holder of the lock may recover these bytes.
      #expect(throws: Never.self) {
        let journal = try scratch.bytes(of: "journal")
        try scratch.overwrite("journal", with: journal + [0xA1])
      }
      hasBegun.withLock { $0 = true }
      Thread {
        #expect(throws: Never.self) {
          let findings = try store.verify().findings
          #expect(findings == [])
        }
        isDone.signal()
      }.start()
      #expect(hasChecked.wait(timeout: .now() + 10) == .success)
      // The verification now proceeds to the lock.
      Thread.sleep(forTimeInterval: 0.05)
      return nil
    }
    Thread {
      #expect(throws: Never.self) {
        if isRevocation {
          try store.revoke(keeping: [scratch.key]) { _ in true }
        } else {
          try store.rotate()
        }
      }
      isDone.signal()
    }.start()
    for _ in 0..<2 { try #require(isDone.wait(timeout: .now() + 20) == .success) }
    disk.setRule(nil)
    #expect(try store.text("item 7") == "7")
  }

  @Test func `revoking shows its plan first, and declining changes nothing`() throws {
    let before = try RecordedDisk.read(scratch.path)
    let plan = Locked<RevocationPlan?>(nil)
    let isDone = try store.revoke(keeping: [second]) { shown in
      plan.withLock { $0 = shown }
      return false
    }
    #expect(!isDone)
    #expect(plan.value?.kept.map(\.number) == [2])
    #expect(plan.value?.dropped.map(\.number) == [1])
    #expect(try RecordedDisk.read(scratch.path) == before)
    #expect(try opens(scratch.key) == nil)
  }

  @Test func `a revoked key no longer opens the store, not even with the restored old header`()
    throws
  {
    let old = try scratch.bytes(of: "header")
    #expect(try store.revoke(keeping: [second]) { _ in true })
    #expect(try opens(scratch.key) == StoreError.wrongKey)
    #expect(try opens(second) == nil)
    #expect(try store.text("item 7") == "7")
    #expect(try store.keySlots().map(\.parameters) == [.rawKey(label: "second")])
    #expect(try scratch.names() == storeFiles)
    try scratch.overwrite("header", with: old)
    try scratch.overwrite("header.copy", with: old)
    let code = try code { _ = try scratch.open().contents() }
    #expect(code == StoreError.wrongKey || code == StoreError.corrupt)
  }

  @Test func `revoking keeps every slot whose key is given, of every kind`() throws {
    let passphrase = try Passphrase.cheap("p")
    let named = NamedKey("ref", key: RawKey.random())
    try store.addSlot(passphrase)
    try store.addSlot(named)
    #expect(try store.revoke(keeping: [passphrase, named, scratch.key]) { _ in true })
    #expect(try opens(passphrase) == nil)
    #expect(try opens(named) == nil)
    #expect(try opens(scratch.key) == nil)
    #expect(try opens(second) == StoreError.wrongKey)
    #expect(try store.keySlots().map(\.number) == [1, 2, 3])
  }

  @Test func `revoking is refused if a given key opens nothing, or if no key is given`() throws {
    let before = try RecordedDisk.read(scratch.path)
    let stranger = try RawKey(RawKey.random())
    #expect(
      try code { try store.revoke(keeping: [second, stranger]) { _ in true } }
        == StoreError.wrongKey)
    #expect(try code { try store.revoke(keeping: []) { _ in true } } == StoreError.invalidKey)
    #expect(try RecordedDisk.read(scratch.path) == before)
  }

  @Test func `the plan of a revocation names slots that another handle added`() throws {
    let other = try scratch.open()
    try other.put("x", as: "item 8")
    let third = try RawKey(RawKey.random(), label: "third")
    try store.addSlot(third)
    let plan = Locked<RevocationPlan?>(nil)
    try other.revoke(keeping: [scratch.key, third]) { shown in
      plan.withLock { $0 = shown }
      return true
    }
    #expect(plan.value?.kept.map(\.number) == [1, 3])
    #expect(plan.value?.dropped.map(\.number) == [2])
    #expect(try opens(third) == nil)
  }

  @Test func `after a revocation another open handle needs a key and loses nothing`() throws {
    let other = try scratch.open()
    #expect(try store.revoke(keeping: [second]) { _ in true })
    #expect(try code { _ = try other.value(for: name("item 7")) } == StoreError.wrongKey)
    #expect(try code { try other.put("x", as: "item 7") } == StoreError.wrongKey)
    #expect(try code { _ = try other.listing() } == StoreError.wrongKey)
    other.lock()
    #expect(try code { try other.unlock(with: scratch.key) } == StoreError.wrongKey)
    try other.unlock(with: second)
    #expect(try other.text("item 7") == "7")
    try other.put("new", as: "item 7")
    #expect(try store.text("item 7") == "new")
  }

  @Test func `a handle that revokes keys can be read while its new journal is renamed`() throws {
    let disk = FaultyFileSystem()
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    let (isRenamed, found) = (Locked(false), Locked<String?>(nil))
    disk.setRule { [path = scratch.path] call in
      if call.kind == .rename, call.name == "journal" { isRenamed.withLock { $0 = true } }
      guard call.kind == .synchronize, call.name == path else { return nil }
      let isNow = isRenamed.withLock { isRenamed in
        defer { isRenamed = false }
        return isRenamed
      }
      guard isNow else { return nil }
      // The names are due to be checked, and now lead to a journal that other keys open.
      Thread.sleep(forTimeInterval: 0.11)
      #expect(throws: Never.self) {
        let text = try store.text("item 7")
        found.withLock { $0 = text }
      }
      return nil
    }
    #expect(try store.revoke(keeping: [scratch.key]) { _ in true })
    disk.setRule(nil)
    #expect(found.value == "7")
    #expect(try store.text("item 7") == "7")
  }

  @Test func `a rotation that another handle finished meanwhile is not finished again`() throws {
    let disk = FaultyFileSystem()
    let failing = try scratch.open(StoreEnvironment(fileSystem: disk))
    disk.setRule { $0.kind == .rename && $0.name == "header" ? .fail(EIO) : nil }
    try failing.rotate()
    let notices = [Notices(), Notices()]
    let handles = try notices.map { try scratch.open(onNotice: $0) }
    for (number, handle) in handles.enumerated() { try handle.put("\(number)", as: "item 7") }
    #expect(notices.map { $0.all.contains(.rotationFinished) } == [true, false])
    #expect(try store.text("item 7") == "1")
  }

  @Test func `the header of a rotation is not installed for a different journal`()
    throws
  {
    let old = try scratch.bytes(of: "journal")
    try store.rotate()
    let header = try scratch.bytes(of: "header")
    try store.rotate()
    let next = scratch.file("header.next")
    try FileManager.default.copyItem(atPath: scratch.file("header"), toPath: next)
    for name in ["header", "header.copy"] { try scratch.overwrite(name, with: header) }
    try scratch.overwrite("journal", with: old)
    let before = try RecordedDisk.read(scratch.path)
    #expect(try code { try scratch.open().put("new", as: "item 7") } == StoreError.corrupt)
    #expect(try RecordedDisk.read(scratch.path) == before)
  }

  @Test func `a rotation whose headers cannot be written counts, and the next write finishes it`()
    throws
  {
    let disk = FaultyFileSystem()
    let writer = try scratch.open(StoreEnvironment(fileSystem: disk))
    try writer.put("tidy", as: "item 8")
    disk.setRule { $0.kind == .rename && $0.name == "header" ? .fail(28) : nil }
    // The new journal is in its place by then: the store is rotated, whatever is reported.
    let outcome = try code { try writer.rotate() }
    #expect(outcome == nil || outcome == StoreError.outcomeUnknown)
    #expect(try opens(second) == nil)
    #expect(try writer.text("item 7") == "7")
    disk.setRule(nil)
    let third = try RawKey(RawKey.random(), label: "third")
    try writer.addSlot(third)
    #expect(try opens(third) == nil)
    #expect(try opens(second) == nil)
    try writer.put("after", as: "item 8")
    #expect(try opens(third) == nil)
    #expect(try scratch.names() == storeFiles)
    #expect(try writer.verify().findings == [])
  }

  @Test(arguments: ["rotate", "revoke"])
  func `a rotation that stops at any call loses nothing and locks no key out`(kind: String) throws {
    // Every call from some point on fails, as if the process had died.
    var callCount = 1
    while true {
      let directory = scratch["stopped \(callCount)"]
      try FileManager.default.copyItem(atPath: scratch.path, toPath: directory)
      let disk = FaultyFileSystem()
      let store = try SealedFileStore.open(
        at: directory, key: scratch.key, environment: StoreEnvironment(fileSystem: disk))
      disk.setRule { [callCount] in $0.number >= callCount ? .fail(5) : nil }
      let outcome = try code {
        if kind == "rotate" {
          try store.rotate()
        } else {
          try store.revoke(keeping: [second]) { _ in true }
        }
      }
      let isOver = disk.calls.count < callCount

      let notices = Notices()
      let opened = try SealedFileStore.open(
        at: directory, key: second,
        options: SealedFileStore.Options(onNotice: { notices.add($0) }))
      #expect(try opened.names(in: nil).count == 19, "\(callCount)")
      #expect(try opened.text("item 7") == "7")
      let first = try code { _ = try SealedFileStore.open(at: directory, key: scratch.key) }
      #expect(first == nil || kind == "revoke")
      if outcome == nil, kind == "revoke" { #expect(first == StoreError.wrongKey) }

      try opened.put("after", as: "item 8")
      #expect(try opened.verify().findings == [], "\(callCount) \(notices.all)")
      #expect(
        Set(try FileManager.default.contentsOfDirectory(atPath: directory)) == storeFiles,
        "\(callCount)")
      #expect(
        try SealedFileStore.open(at: directory, key: second).text("item 8") == "after")
      if isOver { break }
      callCount += 1
    }
    #expect(callCount > 30)
  }
}
