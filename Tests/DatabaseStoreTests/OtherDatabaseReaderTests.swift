import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests that the independent implementation in `Tests/Tools/FormatReader` can read the library's
/// rows.
@Suite(.onOwnThread) struct OtherDatabaseReaderTests {
  private struct Answer: Decodable {
    struct Lease: Decodable {
      let shard: Int16
      let tag: String
    }

    struct Item: Decodable {
      let service: String
      let group: String?
      let install: String?
      let identifier: String
      let value: String
      let lease: Lease
      let refreshLease: Lease

      enum CodingKeys: String, CodingKey {
        case service, group, install, identifier, value, lease
        case refreshLease = "refresh_lease"
      }
    }

    let fingerprint: String?
    let items: [Item]?
    let error: String?
    let what: String?
  }

  /// Reads the rows with the other implementation.
  private func otherReading(
    _ header: HeaderRow, _ rows: [SealedRow], key: SecretBytes
  ) throws -> Answer {
    let directory = try TemporaryDirectory()
    let tables: [String: Any] = [
      "header": [
        "format": header.format, "number": header.number, "least_epoch": header.leastEpoch,
        "bytes": hexadecimal(header.bytes),
      ],
      "item": rows.map { row in
        [
          "ns": hexadecimal(row.fields.address.namespace.bytes.bytes),
          "shard": row.fields.address.shard.number,
          "tag": hexadecimal(row.fields.address.tag.bytes.bytes), "version": row.fields.version,
          "epoch": row.fields.epoch.number, "gone": row.fields.isGone,
          "write": hexadecimal(row.fields.write.bytes.bytes), "nonce": hexadecimal(row.nonce),
          "name": hexadecimal(row.name ?? []), "value": hexadecimal(row.value ?? []),
        ] as [String: Any]
      },
    ]
    try JSONSerialization.data(withJSONObject: tables)
      .write(to: URL(filePath: directory["rows"]))
    try Data(key.copyBytes()).write(to: URL(filePath: directory["key"]))
    let reader = SourceDirectory.path + "/Tests/Tools/FormatReader/read_database_rows.py"
    // Tests/run sets this to an interpreter with PyNaCl.
    let python = ProcessInfo.processInfo.environment["SESSION_TOOLS_PYTHON"] ?? "python3"
    let result = try Program.outcome(of: [
      python, reader, "--key-file", directory["key"], directory["rows"],
    ])
    // The status is 0 with items, 1 with an error of the store.
    guard [0, 1].contains(result.status),
      let answer = try? JSONDecoder().decode(Answer.self, from: result.output)
    else {
      Issue.record(
        """
        The other reader needs python3 with PyNaCl; Tests/run installs it. Its output: \
        \(result.text)\(result.complaint)
        """)
      throw CocoaError(.executableNotLoadable)
    }
    return answer
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Seals items of many lengths and names, and a removal.
  private func sealed(_ database: SealedDatabase) throws -> [ItemName: SecretBytes] {
    var items: [ItemName: SecretBytes] = [:]
    for length in [0, 1, 59, 60, 61, 252, 253, 4092, 4093, 65_533, 1 << 20] {
      items[try name("\(length) bytes")] = SecretBytes(
        (0..<length).map { UInt8(truncatingIfNeeded: $0) })
    }
    for length in [1, 40, 41, 104, 105, 4070, 4071, 4096] {
      let itemName = try name(String(repeating: "i", count: length), group: "g", install: "é")
      items[itemName] = SecretBytes(utf8: "\(length)")
    }
    let refresh = try name("id", group: "g").refreshLock
    items[refresh] = SecretBytes(utf8: "named like a refresh")
    items[try name("\0\n\u{301}", service: "s")] = SecretBytes(utf8: "odd")
    return items
  }

  @Test func `what the library seals is read the same, in both epochs of a rotation`() throws {
    let secret = RawKey.random()
    var database = try SealedDatabase(key: RawKey(secret, label: "é"))
    let items = try sealed(database)
    var version: Int64 = 0
    func add(_ names: some Sequence<ItemName>) throws {
      for name in names {
        version += 1
        database.rows.append(
          try database.sealer().seal(items[name], for: name, version: version))
      }
    }
    let names = items.keys.sorted()
    try add(names[..<10])
    try database.rotate()
    try add(names[10...])
    database.rows.append(try database.row(nil, for: name("gone")))

    let answer = try otherReading(database.header, database.rows, key: secret)
    #expect(answer.error == nil, "\(answer.what ?? "")")
    #expect(try answer.fingerprint == database.keys.fingerprint().text)
    var theirs: [ItemName: String] = [:]
    for item in answer.items ?? [] {
      let itemName = try name(
        item.identifier, service: item.service, group: item.group, install: item.install)
      theirs[itemName] = item.value
      for (name, theirs) in [(itemName, item.lease), (itemName.refreshLock, item.refreshLease)] {
        let lease = database.keys.leaseAddress(of: name)
        #expect(lease.shard.number == theirs.shard)
        #expect(hexadecimal(lease.tag.bytes.bytes) == theirs.tag)
      }
    }
    #expect(theirs == items.mapValues { hexadecimal($0.copyBytes()) })
  }

  @Test func `a wrong key and a changed row are the same errors for both`() throws {
    let secret = RawKey.random()
    let database = try SealedDatabase(key: RawKey(secret))
    var row = try database.row("value", for: name("item"))
    #expect(try otherReading(database.header, [row], key: RawKey.random()).error == "wrong_key")
    #expect(try otherReading(database.header, [row], key: secret).items?.count == 1)
    row.fields.version += 1
    #expect(try otherReading(database.header, [row], key: secret).error == "corrupt")
  }
}
