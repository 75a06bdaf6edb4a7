package import SecretStores

/// A keyed hash of an item's name and value.
///
/// It is equal for equal items, and reveals nothing without the key.
package struct ItemDigest: Hashable, Sendable {
  package static let byteCount = 16

  private let bytes: Bytes16

  fileprivate init(bytes: Bytes16) {
    self.bytes = bytes
  }

  /// Reads a digest that ``store(in:at:)`` wrote.
  package init(_ buffer: ByteBuffer, at offset: Int) {
    bytes = Bytes16(buffer, at: offset)
  }

  package func store(in buffer: ByteBuffer, at offset: Int) {
    bytes.store(in: buffer, at: offset)
  }

  /// 32 hexadecimal digits.
  package var hexadecimal: String { bytes.hexadecimal }
}

/// A maker of item digests with one key: BLAKE2b of the canonical name's length, the canonical name
/// and the value.
package struct ItemDigester: Sendable {
  private let key: KeyBytes

  /// - Parameter secret: 32 bytes.
  /// - Throws: `unavailable` when there is no memory for keys, `invalidKey` for another length.
  package init(key secret: SecretBytes) throws(StoreError) {
    key = try WrappingKey(secret).bytes
  }

  package func digest(of name: ItemName, _ value: SecretBytes) -> ItemDigest {
    let nameByteCount = name.canonicalByteCount
    let buffer = ByteBuffer(byteCount: 4 + nameByteCount + value.byteCount, isSecret: true)
    buffer.store(UInt32(nameByteCount), at: 0)
    name.storeCanonical(in: buffer, at: 4)
    buffer.copy(value, to: 4 + nameByteCount)
    return digest(buffer)
  }

  /// Returns one digest of an earlier one and of some more, in this order.
  package func digest(of earlier: ItemDigest?, _ more: [ItemDigest]) -> ItemDigest {
    let all = (earlier.map { [$0] } ?? []) + more
    let buffer = ByteBuffer(byteCount: all.count * ItemDigest.byteCount)
    for (position, digest) in all.enumerated() {
      digest.store(in: buffer, at: position * ItemDigest.byteCount)
    }
    return digest(buffer)
  }

  private func digest(_ buffer: ByteBuffer) -> ItemDigest {
    ItemDigest(bytes: Sodium.hash16(buffer, 0..<buffer.byteCount, key: key))
  }
}
