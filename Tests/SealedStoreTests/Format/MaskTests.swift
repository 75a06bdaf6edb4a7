import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests of the parts of a record that are visible without the keys.
@Suite struct MaskTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
  }

  /// Returns the records of the journal, separated by their lengths.
  private func records() throws -> [[UInt8]] {
    var rest = try scratch.bytes(of: "journal").dropFirst(88)
    var records: [[UInt8]] = []
    func length(at offset: Int) -> Int {
      rest.dropFirst(offset).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    while !rest.isEmpty {
      let byteCount = 72 + length(at: 0) + length(at: 4)
      records.append(Array(rest.prefix(byteCount)))
      rest = rest.dropFirst(byteCount)
    }
    return records
  }

  /// Returns the number of equal bytes at the same positions.
  private func commonCount(_ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) -> Int {
    zip(one, other).count { $0 == $1 }
  }

  @Test func `two records of one item have nothing in common but their lengths`() throws {
    for _ in 0..<2 { try store.put("value", as: "item") }
    let records = try records()
    let (first, second) = (records[0], records[1])
    #expect(first[..<8] == second[..<8])
    #expect(first[8..<16] == [1, 0, 0, 0, 0, 0, 0, 0])
    #expect(second[8..<16] == [2, 0, 0, 0, 0, 0, 0, 0])
    // Masked kind and tag, nonce, chain value, sealed name and sealed value: a few random bytes may
    // be the same.
    for range in [16..<32, 32..<56, 56..<72, 72..<152, 152..<232] {
      #expect(first[range] != second[range], "\(range)")
      #expect(commonCount(first[range], second[range]) <= 5, "\(range)")
    }
  }

  @Test func `changes of several items look the same as changes of one item`() throws {
    for number in 0..<200 { try store.put("value", as: number % 2 == 0 ? "one" : "\(number)") }
    let records = try records()
    // The 15 bytes of the tag and the kind before them differ from record to record.
    #expect(Set(records.map { Array($0[16..<32]) }).count == 200)
    for offset in 16..<32 {
      let values = Set(records.map { $0[offset] })
      // 200 random bytes have about 139 values.
      #expect(values.count > 90, "byte \(offset)")
    }
  }

  @Test(arguments: [0, 60, 61, 500, 2000, 4000, 4092])
  func `a removal is as long as the value that it removes`(byteCount: Int) throws {
    try store.put(SecretBytes([UInt8](repeating: 7, count: byteCount)), for: name("item"))
    try store.remove(name("item"))
    let records = try records()
    #expect(records.count == 2)
    #expect(records[0].count == records[1].count)
    #expect(records[0][..<8] == records[1][..<8])
    #expect(try scratch.open().contains(name("item")) == false)
  }

  @Test(arguments: [4093, 5000, 1_000_000])
  func `a removal of a value above 4 KiB has 4 KiB`(byteCount: Int) throws {
    try store.put(SecretBytes([UInt8](repeating: 7, count: byteCount)), for: name("item"))
    try store.remove(name("item"))
    let records = try records()
    #expect(records[1].count == 72 + (64 + 16) + (4096 + 16))
    #expect(records[0].count > records[1].count)
  }

  @Test func `a removal is as long as the newest value, not an earlier value`() throws {
    for byteCount in [3000, 100] {
      try store.put(SecretBytes([UInt8](repeating: 7, count: byteCount)), for: name("item"))
    }
    try store.apply([
      .put(SecretBytes([UInt8](repeating: 7, count: 700)), for: name("brief")),
      .remove(name("brief")), .remove(name("item")),
    ])
    let lengths = try records().map(\.count)
    #expect(lengths.count == 5)
    #expect(lengths[3] == lengths[2])
    #expect(lengths[4] == lengths[1])
  }
}
