import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct RowSizeTests {
  private let database: SealedDatabase

  init() throws {
    database = try SealedDatabase()
  }

  /// Returns the length of Padmé, computed as its paper says.
  private func padme(_ length: Int) -> Int {
    var exponent = 0
    while length >> (exponent + 1) > 0 { exponent += 1 }
    var digits = 0
    while exponent >> digits > 0 { digits += 1 }
    let step = 1 << (exponent - digits)
    return (length + step - 1) / step * step
  }

  @Test func `the server sees values at lengths of Padmé alone`() throws {
    let name = try name("item")
    let lengths = Array(0...700) + [4091, 4092, 4093, 65_000, 1 << 20]
    for length in lengths {
      let row = try database.sealer().seal(
        SecretBytes([UInt8](repeating: 1, count: length)), for: name, version: 1)
      #expect(row.value?.count == 16 + padme(max(64, 4 + length)))
      #expect(try database.opener.value(of: row, for: name)?.byteCount == length)
    }
  }

  @Test func `the server sees names at multiples of 64 bytes`() throws {
    // All parts but the identifier take 15 bytes.
    for length in Array(1...200) + [4096] {
      let name = try name(String(repeating: "i", count: length))
      let row = try database.row("v", for: name)
      #expect(row.name?.count == 16 + (15 + length + 63) / 64 * 64)
      #expect(try database.opener.name(of: row) == name)
    }
  }

  @Test func `a removal has the same length as an empty value`() throws {
    let name = try name("item")
    #expect(try database.row(nil, for: name).value?.count == 80)
    #expect(try database.row("", for: name).value?.count == 80)
  }

  @Test func `a value above 1 MiB is refused`() throws {
    let name = try name("item")
    let value = SecretBytes([UInt8](repeating: 0, count: (1 << 20) + 1))
    #expect(
      try code { _ = try database.sealer().seal(value, for: name, version: 1) } == .valueTooLarge)
    #expect(
      try code { try ChangeLimits.check([.put(value, for: name)], database: "database") }
        == .valueTooLarge)
  }

  @Test func `a change of more than 1,000 items is refused`() throws {
    let removals = try (0...1000).map { StoreChange.remove(try name("\($0)")) }
    #expect(try code { try ChangeLimits.check(removals, database: "database") } == .valueTooLarge)
    try ChangeLimits.check(Array(removals.dropLast()), database: "database")
  }

  @Test(arguments: [0, 61, 1020, 14_600])
  func `a change within the store's traits is never refused`(valueByteCount: Int) throws {
    let value = SecretBytes([UInt8](repeating: 0, count: valueByteCount))
    var (changes, byteCount): ([StoreChange], Int) = ([], 0)
    for number in 0..<DatabaseFormat.maximumChangeCount {
      // As long as names may be, until the bytes are used up.
      let length = valueByteCount == 0 ? 4092 : 1 + number % 64
      let put = StoreChange.put(
        value, for: try name("\(number)" + String(repeating: "i", count: length)))
      guard byteCount + put.listByteCount <= DatabaseFormat.maximumListByteCount else { break }
      byteCount += put.listByteCount
      changes.append(put)
    }
    try ChangeLimits.check(changes, database: "database")
    // A list of the largest values: each is padded to the next length of Padmé.
    let large = SecretBytes([UInt8](repeating: 0, count: (1 << 19) + 1))
    let puts = try (0..<DatabaseFormat.maximumListByteCount / ((1 << 19) + 100)).map {
      StoreChange.put(large, for: try name("\($0)"))
    }
    try ChangeLimits.check(puts, database: "database")
  }

  @Test func `a change of more than 16 MiB of sealed names and values is refused`() throws {
    let value = SecretBytes([UInt8](repeating: 0, count: 1 << 20))
    // Each takes 80 and 1,081,360 bytes.
    let puts = try (0..<16).map { StoreChange.put(value, for: try name("\($0)")) }
    #expect(try code { try ChangeLimits.check(puts, database: "database") } == .valueTooLarge)
    try ChangeLimits.check(Array(puts.dropLast()), database: "database")
  }
}
