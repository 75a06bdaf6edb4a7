import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestThreads
import Testing

/// Tests that the independent implementation in `Tests/Tools/FormatReader` can read the library's
/// stores.
@Suite(.onOwnThread) struct OtherReaderTests {
  let scratch: Scratch
  let key: String

  init() throws {
    scratch = try Scratch()
    key = try scratch.writeKeyFile()
  }

  private struct Answer: Decodable {
    struct Item: Decodable {
      let service: String
      let group: String?
      let install: String?
      let identifier: String
      let value: String
      let time: Int?

      enum CodingKeys: String, CodingKey {
        case service, group, install, identifier, time
        case value = "value_hex"
      }
    }

    struct Finding: Decodable {
      let kind: String
      let what: String
    }

    let fingerprint: String?
    let items: [Item]?
    let findings: [Finding]?
    let error: String?
    let what: String?
  }

  /// Reads the store with the other implementation; the options give it a key.
  private func otherReading(_ options: String...) throws -> Answer {
    let reader = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Tools/FormatReader/read_store.py").standardizedFileURL.path
    // Tests/run sets this to an interpreter with PyNaCl.
    let python = ProcessInfo.processInfo.environment["SESSION_TOOLS_PYTHON"] ?? "python3"
    let result = try run([python, reader, scratch.path, "--json"] + options)
    // The status is 0 with items, 1 with an error of the store.
    guard [0, 1].contains(result.status), let data = result.output.data(using: .utf8),
      let answer = try? JSONDecoder().decode(Answer.self, from: data)
    else {
      Issue.record(
        """
        The other reader needs python3 with PyNaCl; Tests/run installs it. Its output: \
        \(result.output)\(result.errors)
        """)
      throw CocoaError(.executableNotLoadable)
    }
    return answer
  }

  /// Compares all items of the store, and expects no findings.
  private func expectTheSame(_ options: String...) throws {
    let answer =
      try options.isEmpty
      ? otherReading("--key-file", key) : otherReading(options[0], options[1])
    #expect(answer.error == nil, "\(answer.what ?? "")")
    #expect((answer.findings ?? []).map(\.what) == [])
    #expect(try answer.fingerprint == scratch.open().fingerprint().text)
    var (theirs, times): ([ItemName: String], [ItemName: Int]) = ([:], [:])
    for item in answer.items ?? [] {
      let namespace = try StoreNamespace(
        service: item.service, accessGroup: item.group,
        install: item.install.map(InstallIdentifier.init(rawValue:)))
      let name = try ItemName(item.identifier, in: namespace)
      (theirs[name], times[name]) = (item.value, item.time)
    }
    let ourTimes = try scratch.open().timesOfChange()
    #expect(times == ourTimes.mapValues { Int(($0.timeIntervalSince1970 * 1000).rounded()) })
    // Every item was put by this process.
    #expect(Set(times.keys) == Set(theirs.keys))
    #expect(times.values.allSatisfy { $0 > 1_700_000_000_000 })
    let ours = try scratch.open().contents().mapValues { bytes in
      bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    #expect(theirs == ours)
  }

  @Test func `an empty store, puts, removals, lists and large values are read the same`() throws {
    let store = try scratch.create()
    try expectTheSame()
    try store.put("value", as: "item")
    try store.put(SecretBytes([UInt8]()), for: name("empty"))
    try store.put("gone", as: "gone")
    try store.remove(name("gone"))
    try store.put(
      SecretBytes((0..<70_000).map { UInt8(truncatingIfNeeded: $0) }), for: name("large"))
    try store.apply([
      .put(secret("1"), for: name("list")), .remove(name("item")),
      .put(secret("2"), for: ItemName("é\0\n", in: StoreNamespace(service: "s", accessGroup: "g"))),
      .put(
        secret("3"),
        for: ItemName(
          String(repeating: "i", count: 4096),
          in: StoreNamespace(service: "s", install: InstallIdentifier(rawValue: "i")))),
      .put(secret("4"), for: name("list")),
    ])
    try expectTheSame()
  }

  @Test func `a store is read the same after compaction, rotation and revocation`() throws {
    let store = try scratch.create()
    for number in 0..<50 { try store.put("\(number)", as: "item \(number % 20)") }
    try store.remove(name("item 7"))
    try store.compact()
    try expectTheSame()
    try store.put("after compaction", as: "item 3")
    try expectTheSame()
    try store.rotate()
    try expectTheSame()
    try store.put("after rotation", as: "item 4")
    try expectTheSame()
    try store.addSlot(RawKey(RawKey.random(), label: "second"))
    #expect(try store.revoke(keeping: [scratch.key]) { _ in true })
    try store.put("after revocation", as: "item 5")
    try expectTheSame()
  }

  @Test func `every kind of key slot opens the store for both`() throws {
    let store = try scratch.create()
    try store.put("value", as: "item")
    let named = NamedKey("keyring:é=1", key: RawKey.random())
    try store.addSlot(Passphrase.cheap("pässword"))
    try store.addSlot(named)
    let recipientKey = try RecipientKey.create(at: scratch["recipient.key"])
    try store.addSlot(recipientKey.recipient(label: "recovery"))
    let passphrase = scratch["passphrase"]
    try Data("pa\u{308}ssword\n".utf8).write(to: URL(filePath: passphrase))
    let namedKey = scratch["named"]
    let bytes = try #require(named.kept[named.reference]).copyBytes()
    try Data(bytes).write(to: URL(filePath: namedKey))
    try expectTheSame("--key-file", key)
    try expectTheSame("--passphrase-file", passphrase)
    try expectTheSame("--recipient-key", recipientKey.path)
    try expectTheSame("--named", "\(named.reference)=\(namedKey)")
  }

  @Test func `a key that was removed or revoked opens the store for neither`() throws {
    let store = try scratch.create()
    let second = try RawKey(RawKey.random())
    try store.addSlot(second)
    try store.removeSlot(1)
    #expect(try otherReading("--key-file", key).error == "wrong_key")
    try store.addSlot(scratch.key)
    #expect(try otherReading("--key-file", key).error == nil)
    #expect(try store.revoke(keeping: [second]) { _ in true })
    #expect(try otherReading("--key-file", key).error == "wrong_key")
  }

  @Test func `damage is damage for both`() throws {
    try scratch.create().put("value", as: "item")
    try scratch.flip("journal", at: 150)
    #expect(try otherReading("--key-file", key).error == "corrupt")
    #expect(try code { _ = try scratch.open().text("item") } == StoreError.corrupt)
  }
}
