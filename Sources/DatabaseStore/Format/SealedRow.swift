package import SealedStore
import SecretStores

/// The columns of a row that the server reads, and that both sealings bind.
package struct RowFields: Hashable, Sendable {
  package var address: RowAddress
  /// The version of the item: each change has a higher one.
  package var version: Int64
  package var epoch: Epoch
  /// Whether the row is a removal.
  package var isGone: Bool
  package var write: WriteIdentifier

  package init(
    address: RowAddress, version: Int64, epoch: Epoch, isGone: Bool, write: WriteIdentifier
  ) {
    self.address = address
    self.version = version
    self.epoch = epoch
    self.isGone = isGone
    self.write = write
  }

  private static let magic = UInt64(littleEndianText: "SSNTDBI1")
  static let associatedDataByteCount = 87

  /// Returns what both sealings bind.
  ///
  /// `SSNTDBI1 ‖ store id 16 ‖ namespace 16 ‖ shard 2 ‖ tag 16 ‖ version 8 ‖ epoch 4 ‖ gone 1 ‖
  /// write id 16`.
  func associatedData(for store: StoreIdentifier) -> ByteBuffer {
    let buffer = ByteBuffer(byteCount: Self.associatedDataByteCount)
    buffer.store(Self.magic, at: 0)
    store.bytes.store(in: buffer, at: 8)
    address.store(in: buffer, at: 24)
    buffer.store(version, at: 58)
    buffer.store(epoch.number, at: 66)
    buffer.store(UInt8(isGone ? 1 : 0), at: 70)
    write.bytes.store(in: buffer, at: 71)
    return buffer
  }
}

/// The identifier of one change: random, and the same in all rows of the change.
package struct WriteIdentifier: Hashable, Sendable {
  package let bytes: Bytes16

  package init(bytes: Bytes16) {
    self.bytes = bytes
  }
}

/// A row of the table `item`, sealed.
package struct SealedRow: Hashable, Sendable {
  package var fields: RowFields
  /// The nonce of both sealings.
  package var nonce: [UInt8]
  /// The sealed canonical name; `nil` when it was not read.
  package var name: [UInt8]?
  /// The sealed value; `nil` when it was not read.
  package var value: [UInt8]?

  package init(fields: RowFields, nonce: [UInt8], name: [UInt8]? = nil, value: [UInt8]? = nil) {
    self.fields = fields
    self.nonce = nonce
    self.name = name
    self.value = value
  }

  /// The length of sealed name and value together.
  static func byteCount(nameByteCount: Int, valueByteCount: Int) -> Int {
    2 * Sodium.tagByteCount + Padding.paddedByteCount(forName: nameByteCount)
      + Padding.paddedByteCount(for: 4 + valueByteCount)
  }
}

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
