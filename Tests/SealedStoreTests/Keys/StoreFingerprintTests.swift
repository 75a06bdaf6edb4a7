import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Synchronization
import Testing

/// Tests that the holder of a secret key is not given a store of someone else's who only knows the
/// public key.
@Suite struct StoreFingerprintTests {
  let scratch: Scratch
  let store: SealedFileStore
  let key: RecipientKey

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    try store.put("value", as: "item")
    key = try RecipientKey.create(at: scratch["recovery.key"])
    try store.addSlot(key.recipient())
  }

  private func opening(_ key: some KeySource) throws -> StoreError.Code? {
    try code { _ = try SealedFileStore.open(at: scratch.path, key: key) }
  }

  private func pinned(_ fingerprint: StoreFingerprint) -> RecipientKey {
    RecipientKey(key.path, expecting: fingerprint)
  }

  /// Makes a store with the same identifier for the public key alone, and puts some of its files
  /// in the place of this one.s.
  private func forge(_ names: [String]) throws {
    let recipient = try Recipient(key.recipient().text)
    let identifier = Array(try scratch.bytes(of: "header")[16..<32])
    let environment = StoreEnvironment(random: ChosenIdentifier(identifier: identifier))
    let forged = try SealedFileStore.create(
      at: scratch["forged"], key: recipient, environment: environment)
    try forged.put("forged", as: "item")
    for name in names {
      let target = URL(filePath: scratch.path).appending(path: name)
      try? FileManager.default.removeItem(at: target)
      try FileManager.default.copyItem(
        at: URL(filePath: scratch["forged"]).appending(path: name), to: target)
    }
  }

  private func files() throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
    return try Dictionary(
      uniqueKeysWithValues: names.map { name in
        (name, try Data(contentsOf: URL(filePath: scratch.path).appending(path: name)))
      })
  }

  @Test
  func `a store that someone made for the public key is refused, and nothing of it is changed`()
    throws
  {
    let fingerprint = try store.fingerprint()
    #expect(try opening(pinned(fingerprint)) == nil)
    try forge(["header", "header.copy", "journal", "mark", "lock"])
    let before = try files()
    for key in [key, pinned(fingerprint)] {
      #expect(try opening(key) == StoreError.wrongStore)
      #expect(
        try code { _ = try SealedFileStore.openingKey(at: scratch.path, from: key) }
          == StoreError.wrongStore)
    }
    #expect(try files() == before)
  }

  @Test func `a forged header that waits to be installed is refused`() throws {
    let fingerprint = try store.fingerprint()
    try forge(["journal", "mark"])
    try FileManager.default.copyItem(
      atPath: scratch["forged"] + "/header", toPath: scratch.path + "/header.next")
    for key in [key, pinned(fingerprint)] {
      #expect(try opening(key) == StoreError.wrongStore)
    }
  }

  @Test func `an error says which fingerprint was found and which one was expected`() throws {
    let expected = try store.fingerprint()
    try forge(["header", "header.copy", "journal", "mark"])
    let found = try SealedFileStore.open(
      at: scratch["forged"], key: AnyStoreKey(key: key)
    ).fingerprint()
    let other = try error { _ = try SealedFileStore.open(at: scratch.path, key: pinned(expected)) }
    #expect(other.reason.contains("\(found)") && other.reason.contains("\(expected)"))
    let unknown = try error { _ = try SealedFileStore.open(at: scratch.path, key: key) }
    #expect(unknown.reason.contains("\(found)"))
  }

  @Test func `a store keeps its fingerprint until its keys are revoked`() throws {
    let fingerprint = try store.fingerprint()
    try store.rotate()
    try store.removeSlot(2)
    try store.addSlot(key.recipient())
    #expect(try store.fingerprint() == fingerprint)
    #expect(try scratch.open().fingerprint() == fingerprint)
    #expect(
      try store.revoke(keeping: [scratch.key], recipients: [key.recipient()]) { _ in true })
    let now = try store.fingerprint()
    #expect(now != fingerprint)
    #expect(try opening(pinned(fingerprint)) == StoreError.wrongStore)
    #expect(try opening(pinned(now)) == nil)
    #expect(try opening(scratch.key) == nil)
  }

  @Test func `stores have different fingerprints, also with the same key`() throws {
    let other = try SealedFileStore.create(at: scratch["other"], key: scratch.key)
    #expect(try other.fingerprint() != store.fingerprint())
    store.lock()
    #expect(try code { _ = try store.fingerprint() } == StoreError.locked)
  }

  @Test func `a source of one's own refuses the slot of a recipient unless it says otherwise`()
    throws
  {
    #expect(try opening(PlainSource(key: key)) == StoreError.wrongStore)
    #expect(try opening(AnyStoreKey(key: key)) == nil)
    #expect(try opening(scratch.key) == nil)
  }

  @Test func `a fingerprint's text is 36 characters, and none of them can be changed`() throws {
    let fingerprint = try store.fingerprint()
    let text = fingerprint.text
    #expect(text.count == 36 && text.hasPrefix("st-store-"))
    #expect(try StoreFingerprint(text) == fingerprint)
    for position in text.indices {
      for replacement in ["A", "b", "_", "=", "é", ""] where String(text[position]) != replacement {
        var changed = text
        changed.replaceSubrange(position...position, with: replacement)
        #expect(
          try code { _ = try StoreFingerprint(changed) } == StoreError.invalidKey, "\(changed)")
      }
    }
  }
}

/// Random bytes, but for the first 16, which are a store's identifier.
private final class ChosenIdentifier: RandomSource {
  private let identifier: Mutex<[UInt8]?>

  init(identifier: [UInt8]) {
    self.identifier = Mutex(identifier)
  }

  func fill(_ buffer: ByteBuffer, _ range: Range<Int>) {
    if let bytes = identifier.withLock({ $0.take() }) {
      buffer.copy(bytes, to: range.lowerBound)
    } else {
      SystemRandomSource().fill(buffer, range)
    }
  }
}

/// A source of a program's own that hands out what a recipient's key opens.
private struct PlainSource: KeySource {
  let key: RecipientKey

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    try key.wrappingKey(for: slot)
  }
}

/// The same, for any store.
private struct AnyStoreKey: KeySource {
  let key: RecipientKey

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    try key.wrappingKey(for: slot)
  }

  func checkStore(
    _ fingerprint: StoreFingerprint, named store: String, openedBy slot: KeySlot.Parameters
  ) {}
}
