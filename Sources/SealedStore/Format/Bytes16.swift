package import SecretStores

/// Sixteen bytes as two little-endian words, the form that compares and hashes fastest.
package struct Bytes16: Hashable, Sendable {
  package var low: UInt64
  package var high: UInt64

  static let zero = Bytes16(low: 0, high: 0)

  package init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  package init(_ buffer: borrowing ByteBuffer, at offset: Int) {
    let bytes = buffer.load(UInt128.self, at: offset)
    low = UInt64(truncatingIfNeeded: bytes)
    high = UInt64(truncatingIfNeeded: bytes >> 64)
  }

  static func ^ (left: Bytes16, right: Bytes16) -> Bytes16 {
    Bytes16(low: left.low ^ right.low, high: left.high ^ right.high)
  }

  package func store(in buffer: ByteBuffer, at offset: Int) {
    buffer.store(UInt128(high) << 64 | UInt128(low), at: offset)
  }

  /// 32 hexadecimal digits.
  package var hexadecimal: String {
    [low, high].map { word in
      let digits = String(word.byteSwapped, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}

/// The identifier of a store: random, and never changed.
package struct StoreIdentifier: Hashable, Sendable {
  package let bytes: Bytes16

  package init(bytes: Bytes16) {
    self.bytes = bytes
  }
}

/// The identifier of one journal file: random, and new for every file.
struct JournalIdentifier: Hashable, Sendable {
  let bytes: Bytes16
}

/// A keyed hash of an item's name, 15 bytes, which identifies the item to a holder of the tag key.
struct ItemTag: Hashable, Sendable {
  /// A zero byte in the place of a record's kind, followed by the hash.
  let bytes: Bytes16

  /// Takes the hash of a kind and a hash, without the kind.
  init(kindAndHash bytes: Bytes16) {
    self.bytes = Bytes16(low: bytes.low & ~0xff, high: bytes.high)
  }

  /// Computes the tag of a canonical name.
  init(
    of buffer: borrowing ByteBuffer, _ canonicalName: Range<Int>, tagKey: borrowing KeyBytes
  ) {
    let hash = Sodium.sipHash(buffer, canonicalName, key: tagKey)
    bytes = Bytes16(low: hash.low << 8, high: hash.high << 8 | hash.low >> 56)
  }
}

/// A MAC that binds a record to every record before it.
struct ChainValue: Hashable, Sendable {
  let bytes: Bytes16
}
