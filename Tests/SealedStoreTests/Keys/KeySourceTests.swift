import Glibc
import SealedStore
import SessionToolsBase
import StoreTestSupport
import Testing

/// Tests of when key sources are asked for a key, and what ends the search for a slot.
@Suite struct KeySourceTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    try store.put("value", as: "item")
  }

  /// Returns whether another process could write now.
  private static func isLockFree(at path: String) -> Bool {
    let files = LinuxFileSystem()
    guard let lock = try? files.open("\(path)/lock", in: .workingDirectory, .readWrite) else {
      return false
    }
    defer { files.close(lock) }
    return (try? files.tryLock(lock, byte: LockFile.writerByte)) ?? false
  }

  @Test func `a revocation asks for keys while other processes can write`() throws {
    let second = try RawKey(RawKey.random(), label: "second")
    try store.addSlot(second)
    let other = try scratch.open()
    let outcomes = Locked<[StoreError.Code?]>([])
    let source = WatchedKey(second) { _ in
      let outcome = try? code { try other.put("written meanwhile", as: "item") }
      outcomes.withLock { $0.append(outcome ?? nil) }
      let path = other.path
      #expect(Self.isLockFree(at: path))
    }
    #expect(try store.revoke(keeping: [source]) { $0.kept.map(\.number) == [2] })
    #expect(outcomes.value == [nil, nil])
    #expect(try store.text("item") == "written meanwhile")
    #expect(try SealedFileStore.open(at: scratch.path, key: second).verify().findings == [])
  }

  @Test func `a revocation asks again for a slot that is added while it asks`() throws {
    let second = try RawKey(RawKey.random(), label: "second")
    let added = NamedKey("added", key: RawKey.random())
    let other = try scratch.open()
    let asked = Locked<[KeySlot.Parameters]>([])
    let source = WatchedKey(scratch.key) { slot in
      let isFirst = asked.withLock { asked in
        asked.append(slot)
        return asked.count == 1
      }
      guard isFirst else { return }
      _ = try? other.addSlot(added)
      _ = try? other.addSlot(second)
    }
    let plan = Locked<SealedFileStore.RevocationPlan?>(nil)
    let isDone = try store.revoke(keeping: [source, added]) { told in
      plan.withLock { $0 = told }
      return true
    }
    #expect(isDone)
    #expect(plan.value?.kept.map(\.number) == [1, 2])
    #expect(plan.value?.dropped.map(\.number) == [3])
    #expect(
      asked.value == [
        .rawKey(label: ""), .namedKey(reference: "added"), .rawKey(label: "second"),
      ])
    #expect(try scratch.open().text("item") == "value")
    #expect(try SealedFileStore.open(at: scratch.path, key: added).text("item") == "value")
    #expect(
      try code { _ = try SealedFileStore.open(at: scratch.path, key: second) }
        == StoreError.wrongKey)
  }

  @Test func `a locked store is not revoked, and its sources are not asked`() throws {
    let source = WatchedKey(scratch.key) { _ in Issue.record("the source was asked") }
    store.lock()
    #expect(try code { try store.revoke(keeping: [source]) { _ in true } } == StoreError.locked)
  }

  @Test func `keys are not asked for under the lock after an unfinished revocation and write`()
    throws
  {
    let disk = FaultyFileSystem()
    let dying = try scratch.open(StoreEnvironment(fileSystem: disk))
    disk.setRule { $0.kind == .rename && $0.name == "header" ? .fail(EIO) : nil }
    #expect(try dying.revoke(keeping: [scratch.key]) { _ in true })
    #expect(try scratch.names().contains("header.next"))
    try scratch.overwrite("journal", with: try scratch.bytes(of: "journal") + [0xA1])

    let (path, asked) = (scratch.path, Locked(0))
    let source = WatchedKey(scratch.key) { _ in
      asked.withLock { $0 += 1 }
      #expect(Self.isLockFree(at: path))
    }
    #expect(try SealedFileStore.open(at: path, key: source).text("item") == "value")
    // It is asked for the header, and for the header that is not in its place yet.
    #expect(asked.value == 2)
  }

  @Test(arguments: [false, true])
  func `a source is asked again, without the lock, if a revocation happened meanwhile`(
    isUnfinished: Bool
  ) throws {
    let failing = FaultyFileSystem()
    let other = try scratch.open(StoreEnvironment(fileSystem: failing))
    if isUnfinished {
      failing.setRule { $0.kind == .rename && $0.name == "header" ? .fail(EIO) : nil }
    }
    // Because of the remains of a write, opening takes the lock.
    try scratch.overwrite("journal", with: try scratch.bytes(of: "journal") + [0xA1])
    let disk = FaultyFileSystem()
    disk.setRule(
      FaultyFileSystem.before(.lock, "lock") { [key = scratch.key] in
        let isDone = try other.revoke(keeping: [key]) { _ in true }
        #expect(isDone)
      })
    let (path, asked) = (scratch.path, Locked(0))
    let source = WatchedKey(scratch.key) { _ in
      asked.withLock { $0 += 1 }
      #expect(Self.isLockFree(at: path))
    }
    let opened = try SealedFileStore.open(
      at: path, key: source, environment: StoreEnvironment(fileSystem: disk))
    #expect(try opened.text("item") == "value")
    #expect(asked.value == 2)
    #expect(try scratch.names().contains("header.next") == isUnfinished)
  }

  @Test(arguments: ["wrongKey", "keyBlocked", "cancelled"])
  func `a source that reports a wrong guess or was cancelled is not asked for another slot`(
    name: String
  ) throws {
    for _ in 0..<3 { try store.addSlot(RawKey(RawKey.random(), label: "another")) }
    let (code, asked) = (StoreError.Code(name), Locked(0))
    let source = WatchedKey(scratch.key) { _ in
      asked.withLock { $0 += 1 }
    } refusing: { slot in
      slot == .rawKey(label: "")
        ? StoreError(code, store: "token", reason: "the PIN is wrong") : nil
    }
    let error = try error { _ = try SealedFileStore.open(at: scratch.path, key: source) }
    #expect(error.code == code)
    #expect(error.reason == "the PIN is wrong")
    #expect(asked.value == 1)
    store.lock()
    #expect(try SealedStoreTests.code { try store.unlock(with: source) } == code)
    #expect(asked.value == 2)
  }

  @Test func `a source that fails for one slot for another reason is asked for the next`() throws {
    let second = try RawKey(RawKey.random(), label: "second")
    try store.addSlot(second)
    let source = WatchedKey(second) { _ in
    } refusing: { slot in
      slot == .rawKey(label: "")
        ? StoreError(.keyMissing, store: "token", reason: "it is not plugged in") : nil
    }
    #expect(try SealedFileStore.open(at: scratch.path, key: source).text("item") == "value")
  }

  @Test func `a source that refuses a second question asks once, even if it fails`() throws {
    for _ in 0..<3 { try store.addSlot(RawKey(RawKey.random(), label: "another")) }
    let asked = Locked(0)
    let source = WatchedKey(scratch.key) { _ in
      asked.withLock { $0 += 1 }
    } refusing: { _ in
      StoreError(.timedOut, store: "token", reason: "it was not touched")
    } checkingCost: { slots throws(StoreError) in
      guard slots.count > 1 else { return }
      throw StoreError(.invalidKey, store: "token", reason: "it was asked before")
    }
    let error = try error { _ = try SealedFileStore.open(at: scratch.path, key: source) }
    #expect(error.code == .timedOut)
    #expect(asked.value == 1)
  }

  @Test func `a revocation ends, and keeps no slot, when its source is cancelled`() throws {
    try store.addSlot(RawKey(RawKey.random(), label: "second"))
    let source = WatchedKey(scratch.key) { _ in
    } refusing: { slot in
      slot == .rawKey(label: "second")
        ? StoreError(.cancelled, store: "token", reason: "it was cancelled") : nil
    }
    let header = try scratch.bytes(of: "header")
    let code = try code { try store.revoke(keeping: [source]) { _ in true } }
    #expect(code == StoreError.cancelled)
    #expect(try scratch.bytes(of: "header") == header)
  }

  @Test func `a revocation keeps the slot that was opened before a source ended the search`() throws
  {
    let second = try RawKey(RawKey.random(), label: "second")
    try store.addSlot(second)
    let asked = Locked(0)
    let source = WatchedKey(scratch.key) { _ in
      asked.withLock { $0 += 1 }
    } refusing: { slot in
      slot == .rawKey(label: "second")
        ? StoreError(.wrongKey, store: "token", reason: "the PIN is wrong") : nil
    }
    try store.addSlot(RawKey(RawKey.random(), label: "third"))
    #expect(try store.revoke(keeping: [source]) { $0.kept.map(\.number) == [1] })
    #expect(asked.value == 2)
    #expect(try scratch.open().text("item") == "value")

    try store.addSlot(second)
    let wrong = WatchedKey(second) { _ in
    } refusing: { _ in
      StoreError(.wrongKey, store: "token", reason: "the PIN is wrong")
    }
    let header = try scratch.bytes(of: "header")
    let code = try code { try store.revoke(keeping: [wrong]) { _ in true } }
    #expect(code == StoreError.wrongKey)
    #expect(try scratch.bytes(of: "header") == header)
  }

  @Test func `a slot that opened is kept even if a slot before the end of the search did not`()
    throws
  {
    for label in ["another", "second"] {
      try store.addSlot(RawKey(RawKey.random(), label: label))
    }
    let source = WatchedKey(scratch.key) { _ in
    } refusing: { slot in
      slot == .rawKey(label: "second")
        ? StoreError(.wrongKey, store: "token", reason: "the PIN is wrong") : nil
    }
    #expect(try store.revoke(keeping: [source]) { $0.kept.map(\.number) == [1] })
    #expect(try scratch.open().text("item") == "value")
  }

  @Test(arguments: ["", "second"])
  func `a revocation does not drop a slot because its key is missing at the moment`(
    label: String
  ) throws {
    try store.addSlot(RawKey(RawKey.random(), label: "second"))
    let source = WatchedKey(scratch.key) { _ in
    } refusing: { slot in
      slot == .rawKey(label: label)
        ? StoreError(.keyMissing, store: "token", reason: "it is not plugged in") : nil
    }
    let header = try scratch.bytes(of: "header")
    let code = try code { try store.revoke(keeping: [source]) { _ in true } }
    #expect(code == StoreError.keyMissing)
    #expect(try scratch.bytes(of: "header") == header)
  }

  @Test func `a revocation reports why a source that opened no slot is blocked`() throws {
    let blocked = WatchedKey(scratch.key) { _ in
    } refusing: { _ in
      StoreError(.keyBlocked, store: "token", reason: "there were too many guesses")
    }
    let header = try scratch.bytes(of: "header")
    let error = try error { try store.revoke(keeping: [blocked]) { _ in true } }
    #expect(error.code == .keyBlocked)
    #expect(error.reason == "there were too many guesses")
    #expect(try scratch.bytes(of: "header") == header)
  }
}

/// A raw key that reports each slot that it is asked for, and may refuse.
private struct WatchedKey: KeySource {
  let key: RawKey
  let watch: @Sendable (KeySlot.Parameters) -> Void
  let refusal: @Sendable (KeySlot.Parameters) -> StoreError?
  let cost: @Sendable ([KeySlot.Parameters]) throws(StoreError) -> Void

  init(
    _ key: RawKey, watch: @escaping @Sendable (KeySlot.Parameters) -> Void,
    refusing refusal: @escaping @Sendable (KeySlot.Parameters) -> StoreError? = { _ in nil },
    checkingCost cost: @escaping @Sendable ([KeySlot.Parameters]) throws(StoreError) -> Void = {
      _ in
    }
  ) {
    self.key = key
    self.watch = watch
    self.refusal = refusal
    self.cost = cost
  }

  func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) { try cost(slots) }

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    watch(slot)
    if let error = refusal(slot) { throw error }
    return key.wrappingKey(for: slot)
  }

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    key.makeSlot()
  }
}
