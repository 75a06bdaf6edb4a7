import CSessionToolsSodium
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

@Suite struct KeySlotTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    try store.put("value", as: "item")
  }

  private func opens(_ key: some KeySource) throws -> StoreError.Code? {
    try code {
      let opened = try SealedFileStore.open(at: scratch.path, key: key)
      #expect(try opened.text("item") == "value")
    }
  }

  @Test func `a slot of every kind opens the store, and a removed slot does not`() throws {
    let raw = try RawKey(RawKey.random(), label: "backup")
    let named = NamedKey("keyring:1", key: RawKey.random())
    let file = try KeyFile.create(at: scratch["keyfile"])
    let passphrase = try Passphrase.cheap("correct horse")
    #expect(try store.addSlot(raw).number == 2)
    #expect(try store.addSlot(named).number == 3)
    #expect(try store.addSlot(file).number == 4)
    #expect(try store.addSlot(passphrase).number == 5)
    #expect(try opens(scratch.key) == nil)
    #expect(try opens(raw) == nil)
    #expect(try opens(named) == nil)
    #expect(try opens(file) == nil)
    #expect(try opens(passphrase) == nil)

    try store.removeSlot(4)
    #expect(try opens(file) == StoreError.wrongKey)
    #expect(try opens(passphrase) == nil)
    try store.removeSlot(3)
    #expect(try opens(named) == StoreError.wrongKey)
    try store.removeSlot(1)
    #expect(try opens(scratch.key) == StoreError.wrongKey)
    #expect(try opens(raw) == nil)
    #expect(try opens(passphrase) == nil)
    #expect(try store.text("item") == "value")
  }

  @Test func `the slots are listed in order, with and without a key`() throws {
    try store.addSlot(RawKey(RawKey.random(), label: "é"))
    try store.addSlot(NamedKey("a reference", key: RawKey.random()))
    try store.addSlot(Passphrase.cheap("p"))
    let slots = try store.keySlots()
    #expect(slots.map(\.number) == [1, 2, 3, 4])
    #expect(slots[0].parameters == .rawKey(label: ""))
    #expect(slots[1].parameters == .rawKey(label: "é"))
    #expect(slots[2].parameters == .namedKey(reference: "a reference"))
    guard case .passphrase(let parameters)? = slots[3].parameters else {
      Issue.record("\(slots[3]) is no passphrase")
      return
    }
    #expect(parameters.passes == 1)
    #expect(parameters.memoryByteCount == 8 << 20)
    #expect(try SealedFileStore.keySlots(at: scratch.path) == slots)
    try store.removeSlot(2)
    #expect(try store.keySlots().map(\.number) == [1, 2, 3])
    #expect(try store.keySlots().map(\.parameters) == [0, 2, 3].map { slots[$0].parameters })
  }

  @Test func `a slot that was changed opens with its new key and not with the old one`() throws {
    let new = try RawKey(RawKey.random(), label: "new")
    try store.changeSlot(1, to: new)
    #expect(try opens(new) == nil)
    #expect(try opens(scratch.key) == StoreError.wrongKey)
    #expect(try store.keySlots().map(\.parameters) == [.rawKey(label: "new")])
  }

  @Test func `a number means the slot that had it, whatever other processes removed`() throws {
    let labels = ["first", "second", "third"]
    let keys = try labels.map { try RawKey(RawKey.random(), label: $0) }
    for key in keys { try store.addSlot(key) }
    let other = try scratch.open()
    try other.removeSlot(2)
    try store.removeSlot(3)
    #expect(try opens(keys[1]) == StoreError.wrongKey)
    #expect(try opens(keys[2]) == nil)
    // Now there are two. A list that is newer than what this object opened is the one that counts.
    try other.addSlot(keys[0])
    #expect(try store.keySlots().count == 3)
    try store.removeSlot(2)
    #expect(try opens(keys[2]) == StoreError.wrongKey)
    #expect(try opens(keys[0]) == nil)
  }

  @Test func `a slot that another process removes while a key is made is not changed`() throws {
    for label in ["first", "second"] { try store.addSlot(RawKey(RawKey.random(), label: label)) }
    let other = try scratch.open()
    let new = NamedKey("new", key: RawKey.random())
    let slow = SlowKey(key: new) { _ = try? other.removeSlot(2) }
    #expect(try code { try store.changeSlot(2, to: slow) } == StoreError.invalidKey)
    #expect(
      try store.keySlots().map(\.parameters) == [
        .rawKey(label: ""), .rawKey(label: "second"),
      ])
    let key = scratch.key
    try store.changeSlot(2, to: SlowKey(key: new) { _ = try? other.addSlot(key) })
    #expect(
      try store.keySlots().map(\.parameters) == [
        .rawKey(label: ""), .namedKey(reference: "new"), .rawKey(label: ""),
      ])
  }

  @Test func `the last slot is not removed`() throws {
    #expect(try code { try store.removeSlot(1) } == StoreError.invalidKey)
    #expect(try opens(scratch.key) == nil)
  }

  @Test(arguments: [0, -1, 3, 17, Int.max, Int.min])
  func `a slot that does not exist is neither changed nor removed`(number: Int) throws {
    // With two slots, the removal is not refused because it is the last slot.
    try store.addSlot(scratch.key)
    let header = try scratch.bytes(of: "header")
    #expect(try code { try store.removeSlot(number) } == StoreError.invalidKey)
    #expect(try code { try store.changeSlot(number, to: scratch.key) } == StoreError.invalidKey)
    #expect(try scratch.bytes(of: "header") == header)
  }

  @Test func `a store has sixteen slots and no more`() throws {
    let keys = try (2...16).map { try RawKey(RawKey.random(), label: "\($0)") }
    for key in keys { try store.addSlot(key) }
    let header = try scratch.bytes(of: "header")
    #expect(try code { try store.addSlot(RawKey(RawKey.random())) } == StoreError.invalidKey)
    #expect(try scratch.bytes(of: "header") == header)
    for key in keys { #expect(try opens(key) == nil) }
  }

  @Test func `a label of 4096 bytes is kept, and a longer label is refused`() throws {
    let label = String(repeating: "l", count: 4096)
    try store.addSlot(RawKey(RawKey.random(), label: label))
    #expect(try store.keySlots()[1].parameters == .rawKey(label: label))
    #expect(
      try code { try store.addSlot(RawKey(RawKey.random(), label: label + "l")) }
        == StoreError.invalidName)
    #expect(try store.keySlots().count == 2)
  }

  @Test func `an empty reference is refused`() throws {
    #expect(
      try code { try store.addSlot(NamedKey("", key: RawKey.random())) }
        == StoreError.invalidName)
    #expect(try store.keySlots().count == 1)
  }

  @Test func `sixteen slots with the longest labels make the longest header`() throws {
    let label = String(repeating: "l", count: 4096)
    try store.changeSlot(1, to: RawKey(RawKey.random(), label: label))
    for _ in 2...15 { try store.addSlot(RawKey(RawKey.random(), label: label)) }
    let last = try RawKey(RawKey.random(), label: label)
    try store.addSlot(last)
    #expect(try scratch.bytes(of: "header").count == 32 + 16 * (4 + 4096 + 16 + 72) + 72 + 16 + 32)
    #expect(try opens(last) == nil)
    #expect(try store.verify().findings == [])
  }

  @Test func `a slot commits to its key and is sealed with it as the format requires`() throws {
    let bytes = RawKey.random()
    try store.changeSlot(1, to: RawKey(bytes, label: "é"))
    let key = bytes.copyBytes()
    let header = try scratch.bytes(of: "header")
    let identifier = Array(header[16..<32])
    let head: [UInt8] = [1, 0, 2, 0, 0xC3, 0xA9]
    #expect(Array(header[32..<38]) == head)

    let committed = Array("SSNTOOLS slot".utf8) + identifier + head
    var commitment = [UInt8](repeating: 0, count: 16)
    _ = unsafe crypto_generichash(&commitment, 16, committed, UInt64(committed.count), key, 32)
    #expect(Array(header[38..<54]) == commitment)

    let data = Array("SSNTOOLS".utf8) + [1, 0] + identifier + head + commitment
    let (nonce, sealed) = (Array(header[54..<78]), Array(header[78..<126]))
    var storeKey = [UInt8](repeating: 0, count: 32)
    let result = unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
      &storeKey, nil, nil, sealed, UInt64(sealed.count), data, UInt64(data.count), nonce, key)
    #expect(result == 0)
  }

  @Test func `with a slot of an unknown kind a store claims nothing about a stolen disk`()
    throws
  {
    let vector = try #require(Vector.all.first { $0.name == "slot_unknown_kind_skipped" })
    try vector.write(to: scratch["vector"])
    let opened = try SealedFileStore.open(at: scratch["vector"], key: vector.keySource)
    let protection = try opened.protection()
    #expect(protection.description.contains("a kind of key of a newer version"))
    #expect(protection.atRest == nil)
    #expect(try store.protection().atRest == .keyFile)
  }

  @Test func `adding a slot rewrites only the header and its copy`() throws {
    let before = try RecordedDisk.read(scratch.path)
    try store.addSlot(RawKey(RawKey.random()))
    let after = try RecordedDisk.read(scratch.path)
    #expect(after["journal"] == before["journal"])
    #expect(after["header"] != before["header"])
    #expect(after["header"] == after["header.copy"])
  }

  @Test func `a slot added or removed through one handle stays so whatever the others do`() throws {
    // Each handle opened the store, and knows its slots, before the others changed them.
    let others = try (0..<3).map { _ in try scratch.open() }
    let key = try RawKey(RawKey.random(), label: "added")
    try store.addSlot(key)
    try others[0].put("other", as: "another item")
    #expect(try opens(key) == nil)
    try others[1].addSlot(RawKey(RawKey.random(), label: "third"))
    #expect(try opens(key) == nil)
    try others[2].removeSlot(1)
    #expect(try opens(scratch.key) == StoreError.wrongKey)
    try store.put("more", as: "another item")
    #expect(try opens(scratch.key) == StoreError.wrongKey)
    #expect(
      try others[0].keySlots().map(\.parameters) == [
        .rawKey(label: "added"), .rawKey(label: "third"),
      ])
  }

  @Test func `a slot added through one handle opens the store after another one rotated it`() throws
  {
    let other = try scratch.open()
    try other.put("other", as: "another item")
    let key = try RawKey(RawKey.random(), label: "added")
    try store.addSlot(key)
    try other.rotate()
    #expect(try opens(key) == nil)
    #expect(try opens(scratch.key) == nil)
  }

  @Test func `the error differs for a wrong key and for a kind of key without a slot`() throws {
    let wrong = try error {
      _ = try SealedFileStore.open(at: scratch.path, key: RawKey(RawKey.random()))
    }
    #expect(wrong.code == .wrongKey)
    let otherKind = try error {
      _ = try SealedFileStore.open(at: scratch.path, key: Passphrase("p"))
    }
    #expect(otherKind.code == .wrongKey)
    #expect(wrong.reason == "the key or passphrase does not open the store")
    #expect(otherKind.reason == "no slot of the store opens with this kind of key")
  }

  @Test func `the description of a slot says what opens it`() {
    let salt = [UInt8](repeating: 0, count: 16)
    let descriptions: [(KeySlot.Parameters, String)] = [
      (.rawKey(label: ""), "key"), (.rawKey(label: "backup"), "key (backup)"),
      (.rawKey(label: "key file"), "key file"),
      (.rawKey(label: "systemd credential vault"), "systemd credential vault"),
      (.namedKey(reference: "keyring:1"), "key kept at keyring:1"),
      (
        .passphrase(Passphrase.Parameters(passes: 1, memoryByteCount: 8 << 20, salt: salt)),
        "passphrase (Argon2id, 8 MiB, 1 pass)"
      ),
      (
        .passphrase(Passphrase.Parameters(passes: 3, memoryByteCount: 64 << 20, salt: salt)),
        "passphrase (Argon2id, 64 MiB, 3 passes)"
      ),
    ]
    for (slot, text) in descriptions { #expect("\(slot)" == text) }
  }

  @Test func `a missing key is reported, unless another slot opens`() throws {
    var named = NamedKey("here", key: RawKey.random())
    try store.addSlot(named)
    named.kept = [:]
    let refusal = try error { _ = try SealedFileStore.open(at: scratch.path, key: named) }
    #expect(refusal.code == .keyMissing)
    #expect(refusal.store == "here")
    let missing = KeyFile(scratch["absent"])
    #expect(try opens(missing) == StoreError.keyMissing)

    let both = EitherKey(first: named, second: scratch.key)
    #expect(try opens(both) == nil)
  }

  @Test func `no error about keys shows a key or a passphrase`() throws {
    let passphrase = "a passphrase that must stay secret"
    let error = try error {
      _ = try SealedFileStore.open(at: scratch.path, key: Passphrase(passphrase))
    }
    #expect(!"\(error)\(error.reason)\(error.remedy ?? "")".contains(passphrase))
    var dumped = ""
    try dump(Passphrase(passphrase), to: &dumped)
    dump(scratch.key, to: &dumped)
    #expect(!dumped.contains(passphrase))
    #expect(!dumped.contains(scratch.keyBytes.copyBytes().map { "\($0)" }.joined(separator: ", ")))
  }
}

/// Two sources, each for its own kind of slot.
private struct EitherKey: KeySource {
  let first: NamedKey
  let second: RawKey

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    if case .rawKey = slot { return second.wrappingKey(for: slot) }
    return try first.wrappingKey(for: slot)
  }
}

/// A key whose slot takes long to make, during which something else happens.
private struct SlowKey: SlotMaker {
  let key: NamedKey
  let meanwhile: @Sendable () -> Void

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    meanwhile()
    return try key.makeSlot()
  }
}
