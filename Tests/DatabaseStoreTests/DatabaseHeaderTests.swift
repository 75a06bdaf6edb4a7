import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

@Suite struct DatabaseHeaderTests {
  private let database: SealedDatabase
  private let name = SealedDatabase.name

  init() throws {
    database = try SealedDatabase()
  }

  private func header() throws -> DatabaseHeader { try database.header.header(of: name) }

  @Test func `a new header has one slot, one epoch and the number 1`() throws {
    let header = try header()
    #expect(header.number == 1)
    #expect(header.keySlots.map(\.parameters) == [.rawKey(label: "first")])
    #expect(header.written == .first)
    #expect(try header.open(with: database.key, of: name).slot == 1)
    // 40, the slot of 4, 5, 16 and 72, the index key, an epoch, checksum and MAC.
    #expect(database.header.bytes.count == 40 + 97 + 72 + 80 + 48)
  }

  @Test func `a slot that is added opens the store, and one that is removed does not`() throws {
    var header = try header()
    let second = try RawKey(RawKey.random(), label: "second")
    var slots = header.slotList(of: name)
    try slots.add(
      second.makeSlot(), from: second, wrapping: database.keys.storeKey,
      random: SystemRandomSource())
    header.slots = slots.records
    header.number += 1
    var row = header.row(leastEpoch: .first, keys: database.keys)
    #expect(row.number == 2)
    #expect(try row.header(of: name).open(with: second, of: name).slot == 2)
    #expect(try row.header(of: name).open(with: database.key, of: name).slot == 1)

    header.slots.removeFirst()
    header.number += 1
    row = header.row(leastEpoch: .first, keys: database.keys)
    #expect(
      try code { _ = try row.header(of: name).open(with: database.key, of: name) } == .wrongKey)
    #expect(try row.header(of: name).open(with: second, of: name).slot == 1)
  }

  @Test func `rows of an older epoch open after a rotation, and new ones have the next`()
    throws
  {
    let name = try DatabaseStoreTests.name("item")
    var database = database
    let old = try database.row("old", for: name)
    let before = database.opener
    try database.rotate()
    #expect(database.header.number == 2)
    #expect(try database.opener.text(of: old, for: name) == "old")
    let new = try database.row("new", for: name, version: 2)
    #expect(new.fields.epoch == Epoch(2))
    #expect(try database.opener.text(of: new, for: name) == "new")
    // A process that has not read the new header yet reads it then.
    #expect(try code { _ = try before.value(of: new, for: name) } == .keyMissing)
  }

  @Test func `a header has at most eight epochs`() throws {
    var database = database
    for _ in 0..<7 { try database.rotate() }
    #expect(try code { try database.rotate() } == .invalidKey)
    #expect(try database.header.header(of: name).written == Epoch(8))
    _ = try database.reopened()
  }

  @Test func `keys in use open a newer header of the same store alone`() throws {
    let other = try SealedDatabase()
    #expect(
      try code { _ = try other.header.header(of: name).open(with: database.keys, of: name) }
        == .corrupt)
    _ = try header().open(with: database.keys, of: name)
  }

  @Test func `keys in use do not open the header of the same store after a revocation`() throws {
    func random(_ byteCount: Int) -> [UInt8] {
      (0..<byteCount).map { _ in UInt8.random(in: 0...255) }
    }
    let identifier = random(16)
    let stores = try (0..<2).map { _ in
      // Identifier, three keys and the nonces of three wrappings.
      let random = ListedRandom([identifier] + [32, 32, 32, 24, 24, 24].map(random))
      return try DatabaseHeader.make(for: database.key.makeSlot(), random: random)
    }
    let header = try stores[1].row.header(of: name)
    #expect(try code { _ = try header.open(with: stores[0].keys, of: name) } == .wrongKey)
    _ = try header.open(with: stores[1].keys, of: name)
  }

  @Test func `a passphrase slot whose cost is beyond the limits is refused before it is stretched`()
    throws
  {
    let costly = try Passphrase(
      "passphrase", cost: .fixed(passes: 1, memoryByteCount: 8 << 20))
    let (row, _) = try DatabaseHeader.make(
      for: costly.makeSlot(), random: SystemRandomSource())
    #expect(try row.header(of: name).open(with: costly, of: name).slot == 1)
    let careful = try Passphrase(
      "passphrase", limits: Passphrase.Limits(passes: 2...10))
    #expect(try code { _ = try row.header(of: name).open(with: careful, of: name) } == .invalidKey)
  }

  @Test(arguments: [(Int32(1), "Migrate "), (3, "Update ")])
  func `a store of another format is refused, and the error says what to do`(
    format: Int32, remedy: String
  ) throws {
    var row = database.header
    row.format = format
    do throws(StoreError) {
      _ = try row.header(of: name)
      Issue.record("a header of format \(format) was read")
    } catch {
      #expect(error.code == .unsupportedVersion)
      #expect(error.remedy?.hasPrefix(remedy) ?? false)
    }
  }

  @Test func `an error names the store and says what to do`() throws {
    var row = database.header
    row.bytes[50] ^= 1
    do throws(StoreError) {
      _ = try row.header(of: name)
      Issue.record("a damaged header was read")
    } catch {
      #expect(error.store == name)
      #expect(error.remedy != nil)
    }
  }

  @Test func `wiped keys open nothing`() throws {
    let name = try DatabaseStoreTests.name("item")
    let row = try database.row("value", for: name)
    let address = database.keys.address(of: name)
    database.keys.wipe()
    #expect(database.keys.address(of: name) != address)
    #expect(try code { _ = try database.opener.name(of: row) } == .corrupt)
  }
}
