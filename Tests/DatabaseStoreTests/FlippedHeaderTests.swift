import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct FlippedHeaderTests {
  private let database: SealedDatabase

  init() throws {
    var database = try SealedDatabase()
    try database.rotate()
    self.database = database
  }

  /// Reads the header; `nil` when it is refused as a header that someone changed must be.
  private func opened(_ header: HeaderRow) throws -> DatabaseKeys? {
    do throws(StoreError) {
      return try header.header(of: "database").open(with: database.key, of: "database").keys
    } catch {
      let refusals = [StoreError.corrupt, StoreError.unsupportedVersion, StoreError.wrongKey]
      #expect(refusals.contains(error.code), "\(error)")
      return nil
    }
  }

  @Test func `the header opens as it is`() throws {
    #expect(try opened(database.header) != nil)
  }

  @Test func `a header with any single bit flipped is damaged`() throws {
    for bit in 0..<database.header.bytes.count * 8 {
      var header = database.header
      header.bytes[bit / 8] ^= 1 << (bit % 8)
      #expect(
        try code { _ = try header.header(of: "database").open(with: database.key, of: "database") }
          == .corrupt, "bit \(bit)")
    }
  }

  @Test func `a header with any single bit flipped and a right checksum does not open`() throws {
    let checked = database.header.bytes.count - 48
    for bit in 0..<checked * 8 {
      var header = database.header
      header.bytes[bit / 8] ^= 1 << (bit % 8)
      let checksum = Blake2b.hash(Array(header.bytes[..<checked]), byteCount: 16)
      header.bytes.replaceSubrange(checked..<checked + 16, with: checksum)
      #expect(try opened(header) == nil, "bit \(bit)")
      // An attacker would change the column, too.
      var number: Int64 = 0
      for byte in header.bytes[32..<40].reversed() { number = number << 8 | Int64(byte) }
      header.number = number
      #expect(try opened(header) == nil, "bit \(bit)")
    }
  }

  @Test func `a header cut at any length does not open`() throws {
    for length in 0..<database.header.bytes.count {
      var header = database.header
      header.bytes = Array(header.bytes[..<length])
      #expect(try opened(header) == nil, "\(length) bytes")
    }
  }

  @Test func `a column with any single bit flipped is noticed`() throws {
    for bit in 0..<32 {
      var header = database.header
      header.format ^= 1 << bit
      #expect(try opened(header) == nil)
      header = database.header
      header.leastEpoch ^= 1 << bit
      // Epoch 2 is in the header; 0 and 3 are not.
      #expect(try opened(header) == nil)
    }
    for bit in 0..<64 {
      var header = database.header
      header.number ^= 1 << bit
      #expect(try opened(header) == nil)
    }
  }
}
