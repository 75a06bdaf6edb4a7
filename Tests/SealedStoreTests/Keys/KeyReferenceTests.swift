import CSessionToolsSodium
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests of the references in key slots, against encodings that are made here.
@Suite struct KeyReferenceTests {
  @Test func `bytes of every length are read back from a reference`() {
    for byteCount in 0..<100 {
      let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: 151 * $0 + byteCount) }
      let reference = KeyReference(scheme: "a-1", bytes: bytes)
      #expect(reference.text == "a-1:" + base64URL(bytes))
      #expect(reference.bytes == bytes)
      #expect(KeyReference(reference.text) == reference)
    }
  }

  @Test(arguments: [
    "", "x25519", ":AA", "X25519:AA", "x_1:AA", "1x:AA", "-x:AA", "é:AA", "x\u{301}:AA", " x:AA",
  ])
  func `a text without a scheme is no reference of this form`(text: String) {
    #expect(KeyReference(text) == nil)
  }

  @Test(arguments: [
    "A", "AAAAA", "AA=", "AA==", "AB", "AAB", "A/", "A+", "AA ", "AA\n", " AA", "é", "\u{301}AA",
    "AA\0", "\0",
  ])
  func `content that is not the one encoding of bytes has no bytes`(content: String) throws {
    #expect(try #require(KeyReference("x:\(content)")).bytes == nil)
  }

  // MARK: - Security keys

  private let salt = [UInt8](0..<32)

  private func securityKey(
    version: UInt8 = 1, flags: UInt8 = 1, credential: [UInt8] = [7, 8, 9], claimed: Int? = nil,
    label: [UInt8] = Array("Ada's".utf8)
  ) -> [UInt8] {
    let count = claimed ?? credential.count
    return [version, flags] + salt + [UInt8(count & 255), UInt8(count >> 8)] + credential + label
  }

  private func slot(_ scheme: String, _ bytes: [UInt8]) -> KeySlot.Parameters {
    .namedKey(reference: "\(scheme):\(base64URL(bytes))")
  }

  @Test func `the slot of a security key is read and written as the format says`() throws {
    for (flags, credentialCount, label) in [
      (UInt8(0), 1, ""), (1, 1023, String(repeating: "é", count: 32)), (1, 64, "Ada's"),
    ] {
      let credential = [UInt8](repeating: 0xA5, count: credentialCount)
      let parameters = slot(
        "fido2", securityKey(flags: flags, credential: credential, label: Array(label.utf8)))
      let read = try #require(SecurityKeySlot(parameters))
      #expect(read.isUserVerified == (flags == 1))
      #expect(read.salt == salt)
      #expect(read.credential == credential)
      #expect(read.label.text == label)
      #expect(read.parameters == parameters)
      let made = SecurityKeySlot(
        isUserVerified: flags == 1, salt: salt, credential: credential,
        label: try SlotLabel(label))
      #expect(made == read)
    }
  }

  @Test func `what is not exactly the slot of a security key is not read as one`() throws {
    let longest = [UInt8](repeating: 0xA5, count: 1023)
    let refused = [
      [], [1], Array(securityKey().prefix(36)), Array(securityKey().prefix(38)),
      securityKey(version: 0), securityKey(version: 2), securityKey(flags: 2),
      securityKey(flags: 3), securityKey(flags: 0x80), securityKey(credential: [], label: []),
      securityKey(claimed: 0), securityKey(claimed: 9), securityKey(claimed: 65_535),
      securityKey(credential: longest + [0]), securityKey(credential: longest, claimed: 1024),
      securityKey(label: [UInt8](repeating: 0x61, count: 65)), securityKey(label: [0xFF]),
      securityKey(label: [0xC3]),
    ]
    for bytes in refused {
      #expect(SecurityKeySlot(slot("fido2", bytes)) == nil, "\(bytes)")
    }
    #expect(SecurityKeySlot(slot("x25519", securityKey())) == nil)
    #expect(SecurityKeySlot(slot("fido", securityKey())) == nil)
    #expect(SecurityKeySlot(.rawKey(label: "fido2:AA")) == nil)
    #expect(SecurityKeySlot(.namedKey(reference: "fido2:" + base64URL(securityKey()) + "=")) == nil)
  }

  @Test func `the key of a security key's slot is a hash of the answer and of all but the label`()
    throws
  {
    let answer = [UInt8](100..<132)
    let input = Array("SSNTFID2".utf8) + securityKey(label: [])
    var expected = [UInt8](repeating: 0, count: 32)
    _ = unsafe crypto_generichash(&expected, 32, input, UInt64(input.count), answer, 32)
    let scratch = try Scratch()
    let store = try scratch.create()
    let key = SecretBytes(expected)
    for label in ["", "Ada's"] {
      let read = try #require(
        SecurityKeySlot(slot("fido2", securityKey(label: Array(label.utf8)))))
      try store.addSlot(
        GivenSlot(
          parameters: read.parameters, key: try read.wrappingKey(from: SecretBytes(answer))))
      guard case .namedKey(let reference) = read.parameters else { return }
      let opened = try SealedFileStore.open(at: scratch.path, key: NamedKey(reference, key: key))
      #expect(opened.path == scratch.path)
      try store.removeSlot(2)
    }
    let read = try #require(SecurityKeySlot(slot("fido2", securityKey())))
    #expect(
      try code { _ = try read.wrappingKey(from: SecretBytes(Array(answer.dropLast()))) }
        == StoreError.invalidKey)
  }

  // MARK: - What a list of slots says

  @Test func `a description names the kind of key, and not what only programs read`() throws {
    let box = [UInt8](repeating: 3, count: 80)
    let publicKey = [UInt8](repeating: 2, count: 32)
    func recipient(_ label: String) -> KeySlot.Parameters {
      slot("x25519", [1] + publicKey + box + Array(label.utf8))
    }
    let long = "tpm2:" + String(repeating: "a", count: 400)
    let descriptions: [(KeySlot.Parameters, String)] = [
      (slot("fido2", securityKey()), "security key (Ada's; PIN or fingerprint, and touch)"),
      (slot("fido2", securityKey(label: [])), "security key (PIN or fingerprint, and touch)"),
      (slot("fido2", securityKey(flags: 0)), "security key (Ada's; touch alone)"),
      (recipient("recovery"), "recipient recovery (AgICAgIC)"),
      (recipient(""), "recipient (AgICAgIC)"),
      (slot("portal", [1] + publicKey), "secret of a sandboxed app, from the desktop's portal"),
      (.namedKey(reference: "secret-service:a/b"), "key kept at secret-service:a/b"),
      (.namedKey(reference: "keyring:1"), "key kept at keyring:1"),
      (.namedKey(reference: long), "key kept at \(long.prefix(24))… (405 characters)"),
      (
        slot("fido2", securityKey(version: 2)),
        "key kept at fido2:AgEAAQIDBAUGBwgJCg… (\(6 + 59) characters)"
      ),
    ]
    for (slot, text) in descriptions { #expect("\(slot)" == text) }
  }

  @Test func `the easiest slot decides what someone with the disk needs`() {
    let recipient = slot("x25519", [UInt8](repeating: 1, count: 113))
    let hardware = slot("fido2", securityKey())
    let keyring = KeySlot.Parameters.namedKey(reference: "secret-service:vault")
    let passphrase = KeySlot.Parameters.passphrase(
      Passphrase.Parameters(
        passes: 1, memoryByteCount: 8 << 20, salt: [UInt8](repeating: 0, count: 16)))
    let cases: [([KeySlot.Parameters?], AtRestProtection?)] = [
      ([hardware], .hardware), ([recipient], .hardware), ([recipient, hardware], .hardware),
      ([hardware, passphrase, recipient], .passphrase), ([recipient, keyring], .keyring),
      ([keyring, passphrase, hardware], .keyring),
      ([hardware, slot("portal", [1] + [UInt8](repeating: 2, count: 32))], .keyring),
      ([hardware, .rawKey(label: ""), passphrase], .keyFile), ([slot("portal", [1])], nil),
      ([hardware, .namedKey(reference: "kms:1")], nil), ([hardware, nil], nil),
      ([.rawKey(label: ""), slot("fido2", [2])], nil), ([slot("x25519", [1])], nil),
    ]
    for (ways, protection) in cases {
      let slots = ways.enumerated().map { KeySlot(number: $0 + 1, parameters: $1) }
      #expect(StoreProtection(sealedFor: slots).atRest == protection, "\(slots)")
    }
    #expect(AtRestProtection.hardware > .passphrase)
  }

  private func base64URL(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }
}

/// A source of one slot that was made before.
private struct GivenSlot: SlotMaker {
  let parameters: KeySlot.Parameters
  let key: WrappingKey

  func makeSlot() -> (parameters: KeySlot.Parameters, key: WrappingKey) { (parameters, key) }
}
