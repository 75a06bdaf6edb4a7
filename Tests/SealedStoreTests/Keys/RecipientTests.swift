import Foundation
import Glibc
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

@Suite struct RecipientTests {
  let scratch: Scratch
  let store: SealedFileStore
  let key: RecipientKey
  let recipient: Recipient

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    try store.put("value", as: "item")
    key = try RecipientKey.create(at: scratch["recovery.key"])
    recipient = try key.recipient(label: "recovery")
  }

  private func opens(_ key: some KeySource) throws -> StoreError.Code? {
    try code {
      let opened = try SealedFileStore.open(at: scratch.path, key: key)
      #expect(try opened.text("item") == "value")
    }
  }

  /// The secret key, for the store as it is now.
  private var pinned: RecipientKey {
    get throws { RecipientKey(key.path, expecting: try store.fingerprint()) }
  }

  private func slots() throws -> [String] {
    try store.keySlots().map { $0.parameters.map { "\($0)" } ?? "unknown" }
  }

  // MARK: - Opening

  @Test func `a store that is sealed to a recipient opens with the secret key and no other`() throws
  {
    try store.addSlot(Recipient(recipient.text))
    let other = try RecipientKey.create(at: scratch["other.key"])
    #expect(try opens(pinned) == nil)
    #expect(try opens(other) == StoreError.wrongKey)
    // The slot is not one for the file's bytes themselves.
    #expect(try opens(KeyFile(key.path)) == StoreError.wrongKey)
    try store.removeSlot(2)
    #expect(try opens(key) == StoreError.wrongKey)
  }

  @Test func `a store may have a recipient alone`() throws {
    let path = scratch["sealed"]
    let made = try SealedFileStore.create(at: path, key: recipient)
    try made.put("value", as: "item")
    let key = RecipientKey(key.path, expecting: try made.fingerprint())
    #expect(try SealedFileStore.open(at: path, key: key).text("item") == "value")
  }

  @Test func `two slots for one recipient have different keys`() throws {
    let slots = try (recipient.makeSlot(), recipient.makeSlot())
    let first = try #require(RecipientSlot(slots.0.parameters))
    let second = try #require(RecipientSlot(slots.1.parameters))
    #expect(first.publicKey == second.publicKey)
    #expect(first != second)
  }

  @Test func `a box that was changed does not open, and another slot still does`() throws {
    try store.addSlot(recipient)
    guard case .namedKey(let reference)? = try store.keySlots()[1].parameters else {
      Issue.record("no named key")
      return
    }
    var bytes = try #require(KeyReference(reference)?.bytes)
    for offset in [33, 64, 65, 80, 81, 112] {
      bytes[offset] ^= 1
      let changed = KeySlot.Parameters.namedKey(
        reference: KeyReference(scheme: "x25519", bytes: bytes).text)
      #expect(try key.wrappingKey(for: changed) == nil, "byte \(offset)")
      bytes[offset] ^= 1
    }
    #expect(try opens(pinned) == nil)
  }

  @Test func `the file is needed for a recipient's slot and for no other`() throws {
    let absent = RecipientKey(scratch["absent.key"])
    #expect(try opens(absent) == StoreError.wrongKey)
    try store.addSlot(recipient)
    #expect(try opens(absent) == StoreError.keyMissing)
    let path = scratch["short.key"]
    try Data(repeating: 1, count: 31).write(to: URL(filePath: path))
    #expect(unsafe chmod(path, 0o600) == 0)
    #expect(try opens(RecipientKey(path)) == StoreError.invalidKey)
    #expect(unsafe chmod(key.path, 0o640) == 0)
    #expect(try opens(key) == StoreError.unsafePermissions)
    #expect(try code { _ = try key.recipient() } == StoreError.unsafePermissions)
    #expect(
      try code { _ = try RecipientKey.create(at: key.path) } == StoreError.alreadyExists)
  }

  // MARK: - The text of a public key

  @Test func `a recipient's text is 61 characters, and none of them can be changed`() throws {
    let text = recipient.text
    #expect(text.count == 61)
    #expect(try Recipient(text).text == text)
    #expect(try RecipientKey(key.path).recipient().text == text)
    for position in text.indices {
      for replacement in ["A", "b", "_", "=", "é", ""] where String(text[position]) != replacement {
        var changed = text
        changed.replaceSubrange(position...position, with: replacement)
        #expect(try code { _ = try Recipient(changed) } == StoreError.invalidKey, "\(changed)")
      }
    }
    for changed in [text + "A", text + "\n", " " + text, text + "=", ""] {
      #expect(try code { _ = try Recipient(changed) } == StoreError.invalidKey, "\(changed)")
    }
  }

  /// The points of low order on Curve25519 and its twist, and what they are encoded as modulo
  /// 2^255 - 19 (RFC 7748, section 7; https://cr.yp.to/ecdh.html, "validate public keys").
  private static let lowOrder = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ]

  @Test(arguments: lowOrder)
  func `a public key with which anyone could open the box is refused`(hex: String) throws {
    let publicKey = try VectorHead.bytes(hex: hex)
    let check = blake2b16(publicKey).prefix(4)
    let text =
      "st-recipient-"
      + Data(publicKey + check).base64EncodedString().replacing("+", with: "-")
      .replacing("/", with: "_")
    let error = try error { _ = try Recipient(text) }
    #expect(error.code == .invalidKey)
    #expect(error.reason.hasPrefix("anyone could open"))
  }

  @Test func `a label has up to 64 bytes`() throws {
    let longest = String(repeating: "é", count: 32)
    #expect(try Recipient(recipient.text, label: longest).label == longest)
    #expect(
      try code { _ = try Recipient(recipient.text, label: longest + "a") }
        == StoreError.invalidName)
  }

  // MARK: - Revocations

  @Test func `a revocation keeps a recipient by its public key, with a new key and its label`()
    throws
  {
    try store.addSlot(recipient)
    let old = try #require(try store.keySlots()[1].parameters)
    let oldKey = try #require(try key.wrappingKey(for: old))
    var plan: RevocationPlan?
    let isDone = try store.revoke(
      keeping: [scratch.key], recipients: [Recipient(recipient.text)]
    ) { shown in
      plan = shown
      return true
    }
    #expect(isDone)
    #expect(plan?.kept.map(\.number) == [1, 2])
    #expect(plan?.kept.last?.parameters == old)
    #expect(plan?.dropped == [])
    #expect(try opens(pinned) == nil)
    #expect(try opens(scratch.key) == nil)
    #expect(try slots()[1] == "\(old)")
    #expect(try store.keySlots()[1].parameters != old)
    // What someone found out about the old slot opens nothing any more.
    #expect(try opens(AnyKey(oldKey)) == StoreError.wrongKey)
  }

  @Test func `a revocation drops a recipient that is not kept`() throws {
    try store.addSlot(recipient)
    #expect(try store.revoke(keeping: [scratch.key]) { $0.dropped.map(\.number) == [2] })
    #expect(try opens(key) == StoreError.wrongKey)
    #expect(try slots() == ["key"])
  }

  @Test func `a recipient without a slot cannot be kept`() throws {
    let other = try RecipientKey.create(at: scratch["other.key"])
    try store.addSlot(other.recipient())
    let header = try scratch.bytes(of: "header")
    let error = try error {
      try store.revoke(keeping: [scratch.key], recipients: [recipient]) { _ in
        Issue.record("the plan was made")
        return true
      }
    }
    #expect(error.code == .wrongKey)
    #expect(try scratch.bytes(of: "header") == header)
  }

  @Test func `a secret key keeps its slot in a revocation as other keys do`() throws {
    try store.addSlot(recipient)
    let old = try store.keySlots()[1]
    #expect(try store.revoke(keeping: [key]) { $0.kept == [old] })
    #expect(try opens(pinned) == nil)
    #expect(try opens(scratch.key) == StoreError.wrongKey)
  }

  private func blake2b16(_ bytes: [UInt8]) -> [UInt8] {
    let buffer = ByteBuffer(bytes)
    let hash = ByteBuffer(byteCount: 16)
    Sodium.hash16(buffer, 0..<bytes.count, key: nil).store(in: hash, at: 0)
    return hash.bytes(0..<16)
  }
}

/// A key that is tried at every slot.
private struct AnyKey: KeySource {
  let key: WrappingKey

  init(_ key: WrappingKey) {
    self.key = key
  }

  func wrappingKey(for slot: KeySlot.Parameters) -> WrappingKey? { key }
}
