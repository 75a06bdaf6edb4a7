import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct FlippedRowTests {
  private let database: SealedDatabase
  private let itemName: ItemName

  init() throws {
    var database = try SealedDatabase()
    try database.rotate()
    self.database = database
    itemName = try name("item", group: "group", install: "install")
  }

  /// Checks that neither name nor value of a changed row open.
  private func expectNothing(
    _ row: SealedRow, name: StoreError.Code? = .corrupt, value: StoreError.Code? = .corrupt,
    _ comment: Comment
  ) throws {
    #expect(try code { _ = try database.opener.name(of: row) } == name, comment)
    #expect(try code { _ = try database.opener.value(of: row, for: itemName) } == value, comment)
  }

  @Test(arguments: [nil, "", "value", String(repeating: "v", count: 70)])
  func `a row with any single bit flipped does not open`(value: String?) throws {
    let row = try database.row(value, for: itemName)
    #expect(try database.opener.name(of: row) == itemName)
    #expect(try database.opener.text(of: row, for: itemName) == value)

    for bit in 0..<row.nonce.count * 8 {
      var changed = row
      changed.nonce[bit / 8] ^= 1 << (bit % 8)
      try expectNothing(changed, "nonce, bit \(bit)")
    }
    let sealedName = try #require(row.name)
    for bit in 0..<sealedName.count * 8 {
      var changed = row
      changed.name?[bit / 8] ^= 1 << (bit % 8)
      // Each part is sealed for itself.
      try expectNothing(changed, value: nil, "name, bit \(bit)")
    }
    let sealedValue = try #require(row.value)
    for bit in 0..<sealedValue.count * 8 {
      var changed = row
      changed.value?[bit / 8] ^= 1 << (bit % 8)
      try expectNothing(changed, name: nil, "value, bit \(bit)")
    }
  }

  @Test func `a column with any single bit flipped does not open`() throws {
    let row = try database.row("value", for: itemName)
    let fields = row.fields
    func flipped(_ bytes: Bytes16, _ bit: Int) -> Bytes16 {
      bit < 64
        ? Bytes16(low: bytes.low ^ 1 << bit, high: bytes.high)
        : Bytes16(low: bytes.low, high: bytes.high ^ 1 << (bit - 64))
    }
    func address(
      _ namespace: NamespaceHash? = nil, _ shard: Shard? = nil, _ tag: RowTag? = nil
    ) -> RowAddress {
      RowAddress(
        namespace: namespace ?? fields.address.namespace, shard: shard ?? fields.address.shard,
        tag: tag ?? fields.address.tag)
    }
    for bit in 0..<128 {
      var changed = row
      changed.fields.address = address(
        NamespaceHash(bytes: flipped(fields.address.namespace.bytes, bit)))
      try expectNothing(changed, "namespace, bit \(bit)")
      changed.fields.address = address(
        nil, nil, RowTag(bytes: flipped(fields.address.tag.bytes, bit)))
      try expectNothing(changed, "tag, bit \(bit)")
      changed = row
      changed.fields.write = WriteIdentifier(bytes: flipped(fields.write.bytes, bit))
      try expectNothing(changed, "write, bit \(bit)")
    }
    for bit in 0..<16 {
      var changed = row
      changed.fields.address = address(nil, Shard(fields.address.shard.number ^ 1 << bit))
      try expectNothing(changed, "shard, bit \(bit)")
    }
    for bit in 0..<64 {
      var changed = row
      changed.fields.version ^= 1 << bit
      try expectNothing(changed, "version, bit \(bit)")
    }
    for bit in 0..<31 {
      guard let epoch = Epoch(fields.epoch.number ^ 1 << bit) else { continue }
      var changed = row
      changed.fields.epoch = epoch
      // Epoch 1 is in the header, too; the keys of the others are not.
      let code = epoch == .first ? StoreError.Code.corrupt : .keyMissing
      try expectNothing(changed, name: code, value: code, "epoch, bit \(bit)")
    }
    var changed = row
    changed.fields.isGone.toggle()
    try expectNothing(changed, "gone")
  }

  @Test func `a part cut at any length does not open`() throws {
    let row = try database.row("value", for: itemName)
    for length in 0..<80 {
      var changed = row
      changed.name = changed.name.map { Array($0[..<length]) }
      changed.value = changed.value.map { Array($0[..<length]) }
      try expectNothing(changed, "\(length) bytes")
    }
    for length in 0..<24 {
      var changed = row
      changed.nonce = Array(changed.nonce[..<length])
      try expectNothing(changed, "nonce of \(length) bytes")
    }
  }

  @Test func `swapped rows do not open, nor any exchanged part`() throws {
    let other = try name("other", group: "group", install: "install")
    let shared = database.sealer(2)
    // One change, one version: only the address differs.
    let row = try shared.seal(SecretBytes(utf8: "value"), for: itemName, version: 7)
    let second = try shared.seal(SecretBytes(utf8: "other"), for: other, version: 7)
    #expect(row.fields.write == second.fields.write)

    var changed = second
    changed.fields.address = row.fields.address
    try expectNothing(changed, "the other row at this address")
    changed = row
    changed.nonce = second.nonce
    try expectNothing(changed, "the other nonce")
    changed = row
    changed.name = second.name
    try expectNothing(changed, value: nil, "the other name")
    changed = row
    changed.value = second.value
    try expectNothing(changed, name: nil, "the other value")
    // A row that is right, and not the one that was asked for.
    #expect(try code { _ = try database.opener.value(of: second, for: itemName) } == .corrupt)
    // Name and value in each other's place.
    changed = row
    (changed.name, changed.value) = (row.value, row.name)
    try expectNothing(changed, "name and value exchanged")
  }

  @Test func `a row of another store with the same names does not open`() throws {
    let foreign = try SealedDatabase()
    var row = try foreign.row("value", for: itemName)
    row.fields.address = database.keys.address(of: itemName)
    try expectNothing(row, "a row of another store")
  }

  @Test func `an older value does not open as a newer version`() throws {
    let old = try database.row("old", for: itemName, version: 1)
    var new = try database.row("new", for: itemName, version: 2)
    (new.nonce, new.name, new.value) = (old.nonce, old.name, old.value)
    try expectNothing(new, "the older sealing under the newer version")
  }
}
