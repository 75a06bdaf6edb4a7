import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// A store for later versions to read, and the contents that they must find in it.
///
/// The contents are noted from the changes that were requested, not from the store's answers.
struct OldStore {
  let path: String
  let store: SealedFileStore
  let rawKey: RawKey
  var findings: [String] = []
  private var keyLines: [String]
  private var items: [ItemName: SecretBytes] = [:]

  init(_ path: String) throws {
    self.path = path
    let bytes = RawKey.random()
    rawKey = try RawKey(bytes, label: "first")
    keyLines = ["raw-key: \(Self.hex(bytes.copyBytes()))"]
    store = try SealedFileStore.create(at: path, key: rawKey)
  }

  func name(_ identifier: String) throws(StoreError) -> ItemName {
    try ItemName(identifier, in: "com.example.old")
  }

  mutating func apply(_ changes: [StoreChange]) throws {
    try store.apply(changes)
    for change in changes {
      switch change {
      case .put(let value, for: let name): items[name] = value
      case .remove(let name): items[name] = nil
      }
    }
  }

  mutating func put(_ identifier: String, _ value: String) throws {
    try apply([.put(SecretBytes(utf8: value), for: name(identifier))])
  }

  mutating func remove(_ identifier: String) throws {
    try apply([.remove(name(identifier))])
  }

  mutating func addPassphrase(_ text: String) throws {
    try store.addSlot(Passphrase(text, cost: .fixed(passes: 1, memoryByteCount: 8 << 20)))
    keyLines.append("passphrase-hex: \(Self.hex(Array(text.utf8)))")
  }

  mutating func addNamedKey(_ reference: String) throws {
    let bytes = RawKey.random()
    try store.addSlot(KeptKey(reference: reference, key: WrappingKey(bytes)))
    keyLines.append("named-key: \(reference) \(Self.hex(bytes.copyBytes()))")
  }

  mutating func addRecipient(label: String) throws {
    let file = path + ".key"
    let key = try RecipientKey.create(at: file)
    try store.addSlot(key.recipient(label: label))
    let bytes = try SecretFile.read(file, maximumByteCount: 32, rule: .privateFile)
    try FileManager.default.removeItem(atPath: file)
    keyLines.append("recipient-key: \(Self.hex(bytes.copyBytes()))")
  }

  mutating func addSecurityKey(label: String) throws {
    let answer = RawKey.random()
    let slot = SecurityKeySlot(
      isUserVerified: true, salt: RawKey.random().copyBytes(),
      credential: RawKey.random().copyBytes(), label: try SlotLabel(label))
    guard case .namedKey(let reference) = slot.parameters else { return }
    try store.addSlot(KeptKey(reference: reference, key: slot.wrappingKey(from: answer)))
    keyLines.append("security-key: \(Self.hex(answer.copyBytes()))")
  }

  /// Replaces the store's files by others.
  func replaceFiles(_ content: RecordedDisk.Content) throws {
    try FileManager.default.removeItem(atPath: path)
    try RecordedDisk.write(content, to: path)
  }

  /// Writes the text beside the store.
  func writeText() throws {
    let itemLines = items.sorted { $0.key < $1.key }.map { name, value in
      let parts = [
        name.namespace.service, name.namespace.accessGroup, name.namespace.install?.rawValue,
        name.identifier,
      ]
      let names = parts.map { $0.map { Self.hex(Array($0.utf8)) } ?? "-" }
      let bytes = value.copyBytes()
      return (["item:"] + names + [bytes.isEmpty ? "empty" : Self.hex(bytes)])
        .joined(separator: " ")
    }
    let lines =
      ["expect: success"] + keyLines + itemLines + findings.map { "finding: \($0)" } + ["", ""]
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: path + ".txt"))
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

/// A key that is kept elsewhere under a reference.
private struct KeptKey: SlotMaker {
  let reference: String
  let key: WrappingKey

  func makeSlot() -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    (.namedKey(reference: reference), key)
  }
}
