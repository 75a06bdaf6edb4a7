package import SealedStore
import SecretStores

/// Reading and writing the columns of a row as bytes and integers.
extension RowFields {
  /// Reads the columns that a server returned; `nil` when no writer makes a column of that length.
  package init?(
    namespace: [UInt8], shard: Int16, tag: [UInt8], version: Int64, epoch: Int32, isGone: Bool,
    write: [UInt8]
  ) {
    guard let namespace = Bytes16(bytes: namespace), let tag = Bytes16(bytes: tag),
      let epoch = Epoch(epoch), let write = Bytes16(bytes: write)
    else { return nil }
    self.init(
      address: RowAddress(
        namespace: NamespaceHash(bytes: namespace), shard: Shard(shard), tag: RowTag(bytes: tag)),
      version: version, epoch: epoch, isGone: isGone, write: WriteIdentifier(bytes: write))
  }
}

extension Bytes16 {
  /// Reads a column; `nil` when it does not have 16 bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    func word(_ start: Int) -> UInt64 {
      (start..<start + 8).reversed().reduce(0) { $0 << 8 | UInt64(bytes[$1]) }
    }
    self.init(low: word(0), high: word(8))
  }

  /// The bytes, for a column.
  package var bytes: [UInt8] {
    let buffer = ByteBuffer(byteCount: 16)
    store(in: buffer, at: 0)
    return buffer.bytes(0..<16)
  }
}
