import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of headers and heads that break a rule of the format but have a right checksum.
///
/// The MAC would reveal this too, but it does not protect a list without a key.
@Suite(.onOwnThread) struct ForgedHeaderTests {
  let scratch: Scratch
  private let header: [UInt8]

  init() throws {
    scratch = try Scratch()
    let store = try scratch.create()
    try store.put("value", as: "item")
    header = try scratch.bytes(of: "header")
  }

  /// Writes the same bytes to both headers, with their right checksum.
  private func forge(_ forged: [UInt8]) throws {
    let bytes = Checksum.repaired(forged)
    for name in ["header", "header.copy"] { try scratch.overwrite(name, with: bytes) }
  }

  private func isListed() throws -> StoreError.Code? {
    let listing = try code { _ = try SealedFileStore.keySlots(at: scratch.path) }
    #expect(try code { _ = try SealedFileStore.identifier(at: scratch.path) } == listing)
    #expect(try code { _ = try scratch.open() } == listing)
    return listing
  }

  @Test(arguments: Array(0..<8) + Array(12..<16))
  func `another magic or reserved byte is not ignored`(offset: Int) throws {
    var forged = header
    forged[offset] ^= 1
    try forge(forged)
    #expect(try isListed() == StoreError.corrupt)
  }

  @Test(arguments: [0, 2, 16, 17, 255])
  func `a wrong number of slots is not accepted`(count: UInt8) throws {
    var forged = header
    forged[10] = count
    try forge(forged)
    #expect(try isListed() == StoreError.corrupt)
  }

  @Test(arguments: [1, 16, 100])
  func `bytes between the slots and the checksum are not ignored`(count: Int) throws {
    var forged = header
    forged.insert(contentsOf: [UInt8](repeating: 0, count: count), at: header.count - 48)
    try forge(forged)
    #expect(try isListed() == StoreError.corrupt)
  }

  @Test func `a header that is too short is damaged, whatever its checksum`() throws {
    for count in [0, 47, 48, 49, 79, 80] {
      var short = [UInt8](repeating: 0, count: count)
      if count >= 48 { short = Array(header[..<(count - 48)]) + [UInt8](repeating: 0, count: 48) }
      if count >= 48 {
        try forge(short)
      } else {
        for name in ["header", "header.copy"] { try scratch.overwrite(name, with: short) }
      }
      #expect(try isListed() == StoreError.corrupt, "\(count) bytes")
    }
  }

  /// Returns the error of opening with a key after a forgery; the slots can still be listed.
  private func answer(to key: some KeySource) throws -> StoreError.Code? {
    _ = try SealedFileStore.keySlots(at: scratch.path)
    return try code { _ = try SealedFileStore.open(at: scratch.path, key: key) }
  }

  // The bytes of the only slot: kind 2, length 2 (of its empty label), commitment 16, nonce 24,
  // key 32, tag 16.

  @Test(arguments: 36..<52)
  func `a slot with a different commitment is not for the key`(offset: Int) throws {
    var forged = header
    forged[offset] ^= 0x80
    try forge(forged)
    #expect(try answer(to: scratch.key) == StoreError.wrongKey)
  }

  @Test(arguments: [52, 75, 76, 107, 108, 123])
  func `a slot that commits to the key but does not open is corrupt`(offset: Int) throws {
    var forged = header
    forged[offset] ^= 1
    try forge(forged)
    #expect(try answer(to: scratch.key) == StoreError.corrupt)
    #expect(try answer(to: RawKey(RawKey.random())) == StoreError.wrongKey)
  }

  @Test func `a slot does not open with the key whose commitment was copied into it`() throws {
    let other = try RawKey(RawKey.random())
    try scratch.open().addSlot(other)
    var forged = try scratch.bytes(of: "header")
    // Both slots have the same parameters, so the commitment is right for the other key.
    forged.replaceSubrange(36..<52, with: forged[128..<144])
    try forge(forged)
    #expect(try answer(to: scratch.key) == StoreError.wrongKey)
    #expect(try answer(to: other) == StoreError.corrupt)
  }

  @Test func `a changed slot is corrupt even if a slot before it was refused`() throws {
    let passphrase = try Passphrase("p", cost: .fixed(passes: 2, memoryByteCount: 8 << 20))
    let store = try scratch.open()
    try store.changeSlot(1, to: passphrase)
    try store.addSlot(Passphrase.cheap("p"))
    var forged = try scratch.bytes(of: "header")
    forged[forged.count - 48 - 72 - 1] ^= 1
    try forge(forged)
    let strict = try Passphrase("p", limits: Passphrase.Limits(passes: 1...1))
    #expect(try answer(to: strict) == StoreError.corrupt)
  }

  @Test func `a slot commits to its parameters`() throws {
    try scratch.open().changeSlot(1, to: RawKey(scratch.keyBytes, label: "label"))
    var labelled = try scratch.bytes(of: "header")
    labelled[36] = UInt8(ascii: "L")
    try forge(labelled)
    #expect(try answer(to: scratch.key) == StoreError.wrongKey)
  }

  @Test(arguments: [36, 40, 44, 59])
  func `a passphrase slot commits to its cost and its salt`(offset: Int) throws {
    let store = try scratch.open()
    try store.changeSlot(
      1, to: Passphrase("p", cost: .fixed(passes: 2, memoryByteCount: (8 << 20) + 1024)))
    var forged = try scratch.bytes(of: "header")
    forged[offset] ^= 1
    try forge(forged)
    #expect(try answer(to: Passphrase("p")) == StoreError.wrongKey)
  }

  @Test func `a slot commits to its store`() throws {
    var forged = header
    forged[16] ^= 1
    try forge(forged)
    #expect(try answer(to: scratch.key) == StoreError.wrongKey)
  }

  @Test func `an empty reference is not ignored`() throws {
    var forged = header
    forged[32] = 3
    try forge(forged)
    #expect(try isListed() == StoreError.corrupt)
  }

  @Test(arguments: 10..<16)
  func `a reserved byte in the head of a journal is not ignored`(offset: Int) throws {
    // The chain value covers zeros there, so it stays right.
    try scratch.flip("journal", at: offset)
    #expect(try code { _ = try scratch.open().text("item") } == StoreError.corrupt)
  }
}
