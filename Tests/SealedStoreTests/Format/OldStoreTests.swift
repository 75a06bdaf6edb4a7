import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

/// A store in `Tests/Data/OldStores` that an earlier version wrote, with its text file.
///
/// The text has the form of a vector without files.
struct OldStore: Sendable, CustomTestStringConvertible {
  let version: String
  let text: Vector
  let content: RecordedDisk.Content

  var testDescription: String { "\(version)/\(text.name)" }

  static let all: [OldStore] = {
    let root = SourceDirectory.path + "/Tests/Data/OldStores"
    do {
      return try directories(in: root).flatMap { version in
        try directories(in: "\(root)/\(version)").map { name in
          let path = "\(root)/\(version)/\(name)"
          let text = try String(contentsOfFile: path + ".txt", encoding: .ascii)
          return OldStore(
            version: version, text: try Vector(name: name, VectorHead.lines(of: text)),
            content: try RecordedDisk.read(path))
        }
      }
    } catch {
      preconditionFailure("\(root): \(error)")
    }
  }()

  private static func directories(in path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted().filter { name in
      var isDirectory: ObjCBool = false
      let exists = unsafe FileManager.default.fileExists(
        atPath: "\(path)/\(name)", isDirectory: &isDirectory)
      return exists && isDirectory.boolValue
    }
  }

  var items: [ItemName: [UInt8]] {
    Dictionary(
      uniqueKeysWithValues: text.items.map { item in
        guard case .bytes(let bytes) = item.value else { return (item.name, []) }
        return (item.name, bytes)
      })
  }

  /// Whether there are bytes behind its mark that opening recovers.
  var isRecoveredByOpening: Bool {
    text.name.hasPrefix("unfinished") || text.name == "unmarked"
  }

  /// The keys of the text, each by itself.
  var keys: [VectorKey] {
    let all = text.keySource
    var keys = all.named.map { VectorKey(named: [$0.key: $0.value]) }
    if let rawKey = all.rawKey { keys.append(VectorKey(rawKey: rawKey)) }
    if let passphrase = all.passphrase { keys.append(VectorKey(passphrase: passphrase)) }
    if let key = all.recipientKey { keys.append(VectorKey(recipientKey: key)) }
    if let key = all.securityKey { keys.append(VectorKey(securityKey: key)) }
    return keys
  }
}

@Suite struct OldStoreTests {
  let directory: TemporaryDirectory
  var path: String { directory["store"] }

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test func `there is an old store of every kind`() {
    let kinds = Set(OldStore.all.map(\.text.name))
    #expect(
      kinds.isSuperset(of: [
        "empty", "values", "every-slot", "removed-items", "changes-of-several", "compacted",
        "rotated", "revoked", "unfinished-tail", "unfinished-in-reserve", "unmarked",
        "compacted-unmarked", "pending-rotation", "pending-rotation-unmarked",
        "pending-revocation", "sealed-to-others",
      ]))
    #expect(Set(OldStore.all.map(\.version)).isSuperset(of: ["0.3.0"]))
    let empty = OldStore.all.filter { $0.items.isEmpty }
    #expect(empty.allSatisfy { $0.text.name == "empty" })
  }

  @Test(arguments: OldStore.all)
  func `an old store is read with each of its keys as its text says, and is not changed`(
    old: OldStore
  ) throws {
    try RecordedDisk.write(old.content, to: path)
    #expect(!old.keys.isEmpty)
    if old.isRecoveredByOpening {
      _ = try SealedFileStore.open(at: path, key: old.keys[0])
      #expect(try RecordedDisk.read(path) != old.content)
    }
    let content = try RecordedDisk.read(path)
    for key in old.keys {
      let store = try SealedFileStore.open(at: path, key: key)
      #expect(try store.contents() == old.items)
      // Version 0.3.0 kept no times.
      #expect(try old.version != "0.3.0" || store.timesOfChange().isEmpty)
      let findings = try store.verify().findings
      #expect(Set(findings.map(\.part.rawValue)) == old.text.findings, "\(findings)")
      #expect(findings.allSatisfy { !$0.isDamage })
    }
    #expect(try RecordedDisk.read(path) == content)
  }

  @Test(arguments: OldStore.all)
  func `an old store is written, compacted, rotated and loses nothing`(old: OldStore) throws {
    try RecordedDisk.write(old.content, to: path)
    let key = try #require(old.keys.first)
    let store = try SealedFileStore.open(at: path, key: key)
    var items = old.items
    let oldest = items.keys.min()
    try store.apply([
      .put(secret("1"), for: name("new")), .put(secret("2"), for: name("other")),
    ])
    items[try name("new")] = Array("1".utf8)
    items[try name("other")] = Array("2".utf8)
    if let oldest {
      try store.remove(oldest)
      items[oldest] = nil
    }
    try expect(items, with: key)
    try store.compact()
    try expect(items, with: key)
    try store.rotate()
    try expect(items, with: key)
  }

  @Test(arguments: OldStore.all.filter { $0.text.name == "sealed-to-others" })
  func `an old store opens with the recipient's key, which a revocation keeps`(
    old: OldStore
  ) throws {
    try RecordedDisk.write(old.content, to: path)
    let slots = try SealedFileStore.keySlots(at: path)
    #expect(slots.map(\.label) == ["first", "recovery", "Ada's"])
    let keys = old.text.keySource
    let secret = try #require(keys.recipientKey)
    let made = FileManager.default.createFile(
      atPath: directory["recipient.key"], contents: Data(secret.copyBytes()),
      attributes: [.posixPermissions: 0o600])
    try #require(made)
    let fingerprint = try SealedFileStore.open(at: path, key: keys).fingerprint()
    let key = RecipientKey(directory["recipient.key"], expecting: fingerprint)
    let store = try SealedFileStore.open(at: path, key: key)
    #expect(try store.contents() == old.items)
    #expect(
      try store.revoke(keeping: [], recipients: [key.recipient()]) { $0.kept == [slots[1]] })
    #expect(try SealedFileStore.keySlots(at: path).map(\.label) == ["recovery"])
    try expect(old.items, with: VectorKey(recipientKey: secret))
    for key in [VectorKey(rawKey: keys.rawKey), VectorKey(securityKey: keys.securityKey)] {
      #expect(
        try code { _ = try SealedFileStore.open(at: path, key: key) } == StoreError.wrongKey)
    }
  }

  private func expect(_ items: [ItemName: [UInt8]], with key: VectorKey) throws {
    let store = try SealedFileStore.open(at: path, key: key)
    #expect(try store.contents() == items)
    #expect(try store.verify().findings == [])
    #expect(try Set(FileManager.default.contentsOfDirectory(atPath: path)) == storeFiles)
  }
}
