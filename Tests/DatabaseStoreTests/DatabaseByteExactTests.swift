import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests that the library writes the same bytes as the independent writer from the same random
/// bytes.
@Suite struct DatabaseByteExactTests {
  /// Returns the n-th random bytes of a store of `make_database_vectors.py`.
  private func drawn(_ byteCount: Int, _ number: UInt64, seed: String) -> [UInt8] {
    let counter = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    return Blake2b.hash(counter, byteCount: byteCount, key: Array(seed.utf8))
  }

  @Test func `a header and three rows are the same, byte for byte`() throws {
    let seed = "three"
    let vector = try DatabaseVector.named("ok_three")
    // The other writer draws identifier, keys and raw key, write identifier and nonce of each row,
    // and the nonces of the header last.
    let random = ListedRandom(
      [drawn(16, 1, seed: seed)] + (2...4).map { drawn(32, $0, seed: seed) }
        + (12...14).map { drawn(24, $0, seed: seed) }
        + (0..<3).flatMap { row in
          [drawn(16, 6 + 2 * row, seed: seed), drawn(24, 7 + 2 * row, seed: seed)]
        })
    let key = try RawKey(SecretBytes(drawn(32, 5, seed: seed)))
    let (header, keys) = try DatabaseHeader.make(for: key.makeSlot(), random: random)
    #expect(header == vector.header)

    let values = [
      (try name("alpha"), "value of alpha"), (try name("beta"), "value of beta"),
      (try name("gamma", group: "grp", install: "install"), "value of gamma"),
    ]
    for (position, (name, value)) in values.enumerated() {
      let sealer = RowSealer(1, keys: keys, of: "database", random: random)
      let row = try sealer.seal(
        SecretBytes(utf8: value), for: name, version: vector.rows[position].version)
      #expect(row == vector.rows[position].sealed, "\(name)")
    }
    #expect(random.isUsedUp)
  }
}
