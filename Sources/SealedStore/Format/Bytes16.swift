import SessionToolsBase

/// Sixteen bytes as the two little-endian words they compare and hash fastest as.
struct Bytes16: Hashable, Sendable {
  var low: UInt64
  var high: UInt64

  static let zero = Bytes16(low: 0, high: 0)

  init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  init(_ buffer: borrowing ByteBuffer, at offset: Int) {
    let bytes = buffer.load(UInt128.self, at: offset)
    low = UInt64(truncatingIfNeeded: bytes)
    high = UInt64(truncatingIfNeeded: bytes >> 64)
  }

  static func ^ (left: Bytes16, right: Bytes16) -> Bytes16 {
    Bytes16(low: left.low ^ right.low, high: left.high ^ right.high)
  }

  func store(in buffer: ByteBuffer, at offset: Int) {
    buffer.store(UInt128(high) << 64 | UInt128(low), at: offset)
  }

  /// 32 hexadecimal digits.
  var hexadecimal: String {
    [low, high].map { word in
      let digits = String(word.byteSwapped, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}

/// Names a store for ever; random.
struct StoreIdentifier: Hashable, Sendable {
  let bytes: Bytes16
}

/// Names one journal file; random, new with every file.
struct JournalIdentifier: Hashable, Sendable {
  let bytes: Bytes16
}

/// A keyed hash of an item's key: 15 bytes, which name the item to a holder of the tag key.
struct ItemTag: Hashable, Sendable {
  /// A zero byte, where a record has its kind, and the hash.
  let bytes: Bytes16

  /// Takes the hash out of a kind and a hash.
  init(kindAndHash bytes: Bytes16) {
    self.bytes = Bytes16(low: bytes.low & ~0xff, high: bytes.high)
  }

  /// The tag of a canonical key.
  init(
    of buffer: borrowing ByteBuffer, _ canonicalKey: Range<Int>, tagKey: borrowing KeyBytes
  ) {
    let hash = Sodium.sipHash(buffer, canonicalKey, key: tagKey)
    bytes = Bytes16(low: hash.low << 8, high: hash.high << 8 | hash.low >> 56)
  }
}

/// Binds a record to every record before it.
struct ChainValue: Hashable, Sendable {
  let bytes: Bytes16
}
