import Glibc
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
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
    let plan = Locked<RevocationPlan?>(nil)
    let isDone = try store.revoke(keeping: [source, added]) { shown in
      plan.withLock { $0 = shown }
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

  @Test(arguments: ["wrongKey", "cancelled"])
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

  @Test(arguments: ["keyMissing", "keyBlocked", "timedOut", "promptDismissed", "unavailable"])
  func `a source that fails for one slot for another reason is asked for the next`(
    name: String
  ) throws {
    let second = try RawKey(RawKey.random(), label: "second")
    try store.addSlot(second)
    let source = WatchedKey(second) { _ in
    } refusing: { slot in
      slot == .rawKey(label: "")
        ? StoreError(StoreError.Code(name), store: "token", reason: "it failed") : nil
    }
    #expect(try SealedFileStore.open(at: scratch.path, key: source).text("item") == "value")
  }

  @Test(arguments: [("wrongKey", 1), ("keyBlocked", 2), ("unavailable", 2)])
  func `a token that does not open its slots does not keep a passphrase from opening its own`(
    name: String, count: Int
  ) throws {
    for number in 1...2 { try store.addSlot(NamedKey("token:\(number)", key: RawKey.random())) }
    try store.addSlot(Passphrase.cheap("a passphrase"))
    let asked = Locked(0)
    let token = Token(code: StoreError.Code(name), asked: asked)
    let both = TokenOrPassphrase(token: token, passphrase: try .cheap("a passphrase"))
    #expect(try SealedFileStore.open(at: scratch.path, key: both).text("item") == "value")
    #expect(asked.value == count)
    let neither = TokenOrPassphrase(token: token, passphrase: try .cheap("another"))
    let error = try error { _ = try SealedFileStore.open(at: scratch.path, key: neither) }
    #expect(error.code == StoreError.Code(name))
    #expect(error.reason == "key slot 2: it failed")
  }

  @Test func `the error of a key that is there comes before that of one that is not`() throws {
    try store.addSlot(RawKey(RawKey.random(), label: "second"))
    try store.addSlot(RawKey(RawKey.random(), label: "third"))
    let codes = ["": StoreError.keyMissing, "second": .keyBlocked, "third": .timedOut]
    let source = WatchedKey(scratch.key) { _ in
    } refusing: { slot in
      guard case .rawKey(let label) = slot, let code = codes[label] else { return nil }
      return StoreError(code, store: StoreError.slotName, reason: "it failed", remedy: "Unplug it")
    }
    let error = try error { _ = try SealedFileStore.open(at: scratch.path, key: source) }
    #expect(error.code == .keyBlocked)
    #expect(error.store == scratch.path)
    #expect(error.reason == "key slot 2 (second): it failed")
    let others =
      "Or give the key of another slot. List its key slots with session-tools slots list "
      + scratch.path
    #expect(error.remedy == "Unplug it. \(others)")
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

  @Test(
    arguments: [
      "wrongKey", "keyBlocked", "keyMissing", "promptDismissed", "timedOut", "cancelled",
    ],
    ["", "second"])
  func `a revocation drops no slot because of an error`(name: String, label: String) throws {
    for label in ["second", "third"] {
      try store.addSlot(RawKey(RawKey.random(), label: label))
    }
    let (code, asked) = (StoreError.Code(name), Locked(0))
    let source = WatchedKey(scratch.key) { _ in
      asked.withLock { $0 += 1 }
    } refusing: { slot in
      slot == .rawKey(label: label)
        ? StoreError(code, store: StoreError.slotName, reason: "the PIN is wrong", remedy: "Try it")
        : nil
    }
    let before = try scratch.names().sorted().map { try scratch.bytes(of: $0) }
    let error = try error {
      try store.revoke(keeping: [source]) { _ in
        Issue.record("a plan was made")
        return true
      }
    }
    #expect(error.code == code)
    let named = label.isEmpty ? "key slot 1: " : "key slot 2 (second): "
    #expect(error.store == scratch.path)
    #expect(error.reason == "\(named)the PIN is wrong")
    let advice =
      "; to shut out the key of this slot, first remove the slot with session-tools slots remove "
      + "\(scratch.path) \(label.isEmpty ? 1 : 2)"
    #expect(error.remedy == "Try it. Nothing was changed" + (name == "cancelled" ? "" : advice))
    #expect(asked.value == (label.isEmpty ? 1 : 2))
    #expect(try scratch.names().sorted().map { try scratch.bytes(of: $0) } == before)
    #expect(try scratch.open().text("item") == "value")
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
}

/// A token that opens no slot.
private struct Token {
  let code: StoreError.Code
  let asked: Locked<Int>
}

/// A source made of two others.
private struct TokenOrPassphrase: KeySource {
  let token: Token
  let passphrase: Passphrase

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard case .namedKey = slot else { return try passphrase.wrappingKey(for: slot) }
    token.asked.withLock { $0 += 1 }
    throw StoreError(token.code, store: StoreError.slotName, reason: "it failed")
  }
}
