import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

@Suite struct PassphraseTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  @Test func `a passphrase opens the store and another passphrase does not`() throws {
    let key = try Passphrase.cheap("correct horse battery staple")
    try SealedFileStore.create(at: scratch.path, key: key).put("value", as: "item")
    let opened = try SealedFileStore.open(
      at: scratch.path, key: Passphrase("correct horse battery staple"))
    #expect(try opened.text("item") == "value")
    for wrong in ["correct horse battery stapl", "correct horse battery staple ", "Correct"] {
      let code = try code {
        _ = try SealedFileStore.open(at: scratch.path, key: Passphrase(wrong))
      }
      #expect(code == StoreError.wrongKey)
    }
  }

  @Test func `a passphrase opens however its letters are composed`() throws {
    let (composed, decomposed) = (
      "\u{e9}\u{fc}\u{1e69} \u{ac00}", "e\u{301}u\u{308}s\u{323}\u{307} \u{1100}\u{1161}"
    )
    #expect(Array(composed.utf8) != Array(decomposed.utf8))
    _ = try SealedFileStore.create(at: scratch.path, key: Passphrase.cheap(decomposed))
    _ = try SealedFileStore.open(at: scratch.path, key: Passphrase(composed))
    _ = try SealedFileStore.open(at: scratch.path, key: Passphrase(decomposed))
    _ = try SealedFileStore.open(
      at: scratch.path, key: Passphrase(utf8: SecretBytes(utf8: composed)))
    // Compatibility forms are different letters, because the normalization is NFC, not NFKC.
    #expect(
      try code {
        _ = try SealedFileStore.open(
          at: scratch.path, key: Passphrase("\u{e9}\u{fc}\u{1e69} \u{ac00}\u{fb01}"))
      } == StoreError.wrongKey)
  }

  @Test func `a passphrase has 1 to 4096 bytes of UTF-8`() throws {
    _ = try Passphrase(String(repeating: "p", count: 4096))
    for bytes in [
      [], [UInt8](repeating: 112, count: 4097), [0x80], [0xFF], [0xC3], [0xED, 0xA0, 0x80],
    ] {
      #expect(try code { _ = try Passphrase(utf8: SecretBytes(bytes)) } == StoreError.invalidKey)
    }
  }

  @Test func `a passphrase with zero bytes is used completely`() throws {
    _ = try SealedFileStore.create(at: scratch.path, key: Passphrase.cheap("a\0b"))
    _ = try SealedFileStore.open(at: scratch.path, key: Passphrase("a\0b"))
    #expect(
      try code { _ = try SealedFileStore.open(at: scratch.path, key: Passphrase("a\0c")) }
        == StoreError.wrongKey)
  }

  static let hostile: [(passes: Int, memoryByteCount: Int)] = [
    (1, (1 << 30) + 1024), (1, Int(UInt32.max) * 1024), (11, 8 << 20), (Int(UInt32.max), 8 << 20),
    (0, 8 << 20), (1, (8 << 20) - 1024), (1, 0), (Int(UInt32.max), Int(UInt32.max) * 1024),
  ]

  @Test(arguments: hostile)
  func `a slot whose cost is outside the limits is refused before it is tried`(
    passes: Int, memoryByteCount: Int
  ) throws {
    let slot = KeySlot.Parameters.passphrase(
      Passphrase.Parameters(
        passes: passes, memoryByteCount: memoryByteCount, salt: [UInt8](repeating: 0, count: 16)))
    let passphrase = try Passphrase("p")
    // Four gigabytes or four billion passes would be noticed.
    #expect(try code { _ = try passphrase.wrappingKey(for: slot) } == StoreError.invalidKey)
    #expect(try code { try passphrase.checkCost(of: [slot]) } == StoreError.invalidKey)
  }

  @Test(arguments: [(11, 8 << 20), (0, 8 << 20), (1, (8 << 20) - 1024), (1, (1 << 30) + 1024)])
  func `a slot that its own passphrase would refuse to open is not made`(
    passes: Int, memoryByteCount: Int
  ) throws {
    let passphrase = try Passphrase(
      "p", cost: .fixed(passes: passes, memoryByteCount: memoryByteCount))
    #expect(try code { _ = try passphrase.makeSlot() } == StoreError.invalidKey)
  }

  @Test func `limits can be raised and lowered by the caller`() throws {
    let cheap = Passphrase.Parameters(
      passes: 1, memoryByteCount: 8192, salt: [UInt8](repeating: 0, count: 16))
    #expect(
      try code { _ = try Passphrase("p").wrappingKey(for: .passphrase(cheap)) }
        == StoreError.invalidKey)
    let generous = try Passphrase(
      "p", limits: Passphrase.Limits(passes: 1...1, memoryByteCount: 8192...8192))
    #expect(try generous.wrappingKey(for: .passphrase(cheap)) != nil)
    _ = try SealedFileStore.create(at: scratch.path, key: Passphrase.cheap("p"))
    let strict = try Passphrase(
      "p", limits: Passphrase.Limits(memoryByteCount: 64 << 20...128 << 20))
    #expect(
      try code { _ = try SealedFileStore.open(at: scratch.path, key: strict) }
        == StoreError.invalidKey)
  }

  @Test func `a refused slot does not keep another slot from opening`() throws {
    let store = try SealedFileStore.create(at: scratch.path, key: Passphrase.cheap("p"))
    try store.addSlot(Passphrase("p", cost: .fixed(passes: 2, memoryByteCount: 8 << 20)))
    try store.put("value", as: "item")
    let onlySecond = try Passphrase("p", limits: Passphrase.Limits(passes: 2...2))
    let opened = try SealedFileStore.open(at: scratch.path, key: onlySecond)
    #expect(try opened.text("item") == "value")
  }
}
