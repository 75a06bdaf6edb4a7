import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Shutting keys out of a store for good.
@Suite(.onOwnThread) struct `a revocation of a database` {
  private let item: ItemName
  private let kept: RawKey

  init() throws {
    item = try ItemName("item", in: "svc")
    kept = try RawKey(RawKey.random(), label: "kept")
  }

  private func makeStore() async throws -> StoreOnServer {
    let made = try await StoreOnServer()
    try made.store.addSlot(kept)
    try await made.store.put("value", for: item)
    return made
  }

  @Test func `shuts out all keys that are not given`() async throws {
    let made = try await makeStore()
    let (address, options) = (made.location.address, made.location.options)
    let other = try made.reopened()
    #expect(try await other.text(for: item) == "value")
    try await made.ask("CREATE TABLE $.before AS SELECT * FROM $.header")
    let isDone = try made.store.revoke(keeping: [kept]) { plan in
      plan.kept.map(\.number) == [2] && plan.dropped.map(\.number) == [1]
    }
    #expect(isDone)
    #expect(try made.store.keySlots().map(\.parameters) == [.rawKey(label: "kept")])
    #expect(try code { _ = try made.reopened() } == .wrongKey)
    let reopened = try SealedDatabaseStore.open(address, key: kept, options: options)
    for store in [made.store, reopened] {
      #expect(try await store.text(for: item) == "value")
      try await store.put("value", for: item)
    }

    // Who had opened it before can do nothing more, until it is opened with the key that was kept.
    #expect(try code { _ = try other.value(for: item) } == .wrongKey)
    #expect(
      try code { try other.apply([.put(SecretBytes(utf8: "late"), for: item)]) } == .wrongKey)
    #expect(try code { try other.addSlot(made.location.key) } == .wrongKey)
    other.lock()
    try other.unlock(with: kept)
    #expect(try await other.text(for: item) == "value")

    // With the header of before, the old key opens the store and none of its items.
    try await made.ask("DELETE FROM $.header; INSERT INTO $.header SELECT * FROM $.before")
    let old = try made.reopened()
    #expect(try code { _ = try old.value(for: item) } == .keyMissing)
  }

  @Test func `keeps a recipient by its public key, and asks for keys while others write`()
    async throws
  {
    let made = try await makeStore()
    let directory = try TemporaryDirectory()
    let key = try RecipientKey.create(at: directory["recovery.key"])
    let recipient = try key.recipient(label: "recovery")
    try made.store.addSlot(recipient)
    let fingerprint = try made.store.fingerprint()
    let other = try made.reopened()
    let source = AskedKey(key: kept) { [item] () throws(StoreError) in
      try other.apply([.put(SecretBytes(utf8: "meanwhile"), for: item)])
      // A change of the header would wait if this one were under way.
      try other.changeSlot(1, to: made.location.key)
    }
    let isDone = try made.store.revoke(keeping: [source], recipients: [recipient]) { plan in
      plan.kept.map(\.number) == [2, 3]
    }
    #expect(isDone)
    let (address, options) = (made.location.address, made.location.options)
    #expect(try made.store.fingerprint() != fingerprint)
    let opened = try SealedDatabaseStore.open(
      address, key: RecipientKey(key.path, expecting: made.store.fingerprint()), options: options)
    #expect(try await opened.text(for: item) == "meanwhile")
    #expect(try code { _ = try made.reopened() } == .wrongKey)
  }

  @Test func `changes nothing when it is not confirmed, or a key does not open the store`()
    async throws
  {
    let made = try await makeStore()
    let header = try await made.ask("SELECT number, bytes FROM $.header")
    #expect(try !made.store.revoke(keeping: [kept]) { _ in false })
    let foreign = try RawKey(RawKey.random())
    #expect(
      try code { try made.store.revoke(keeping: [kept, foreign]) { _ in true } } == .wrongKey)
    #expect(try code { try made.store.revoke(keeping: []) { _ in true } } == .invalidKey)
    #expect(try await made.ask("SELECT number, bytes FROM $.header") == header)
  }

  @Test func `also finishes a rotation that was interrupted`() async throws {
    let made = try await makeStore()
    try await made.ask("CREATE TABLE $.damaged AS SELECT * FROM $.item")
    try await made.ask("UPDATE $.item SET value = ''")
    #expect(try code { try made.store.rotate() } == .corrupt)
    #expect(try made.store.isRotationPending())
    try await made.ask("UPDATE $.item SET value = d.value FROM $.damaged d")
    try made.store.revoke(keeping: [kept]) { _ in true }
    #expect(try !made.store.isRotationPending())
    #expect(try await made.ask("SELECT DISTINCT epoch FROM $.item") == "3")
    #expect(try await made.store.text(for: item) == "value")
  }
}

/// A raw key that does something each time it is asked for.
private struct AskedKey: KeySource {
  let key: RawKey
  let ask: @Sendable () throws(StoreError) -> Void

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    try ask()
    return key.wrappingKey(for: slot)
  }
}
