import SessionToolsBase

/// Sixteen bytes as the two little-endian words they compare and hash fastest as.
struct Bytes16: Hashable, Sendable {
  var low: UInt64
  var high: UInt64

  init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  init(_ buffer: ByteBuffer, at offset: Int) {
    low = buffer.load(UInt64.self, at: offset)
    high = buffer.load(UInt64.self, at: offset + 8)
  }

  func store(in buffer: ByteBuffer, at offset: Int) {
    buffer.store(low, at: offset)
    buffer.store(high, at: offset + 8)
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

/// A keyed hash of an item's key: names the item to whoever has the name key.
struct ItemTag: Hashable, Sendable {
  let bytes: Bytes16
}

/// Binds a record to every record before it.
struct ChainValue: Hashable, Sendable {
  let bytes: Bytes16
}
