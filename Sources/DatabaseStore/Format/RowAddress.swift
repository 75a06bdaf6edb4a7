package import SealedStore
import SecretStores

/// Where the row of an item lies: the primary key of the table `item`.
package struct RowAddress: Hashable, Sendable {
  package let namespace: NamespaceHash
  package let shard: Shard
  package let tag: RowTag

  package init(namespace: NamespaceHash, shard: Shard, tag: RowTag) {
    self.namespace = namespace
    self.shard = shard
    self.tag = tag
  }

  /// The address before all others that a row has.
  static let first = RowAddress(
    namespace: NamespaceHash(bytes: Bytes16(low: 0, high: 0)), shard: Shard(.min),
    tag: RowTag(bytes: Bytes16(low: 0, high: 0)))

  /// Hashes a part of the tag alone, which is a hash with a key itself.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(tag.bytes.low)
  }

  /// Writes `namespace 16 ‖ shard 2 ‖ tag 16`.
  func store(in buffer: ByteBuffer, at offset: Int) {
    namespace.bytes.store(in: buffer, at: offset)
    buffer.store(shard.number, at: offset + 16)
    tag.bytes.store(in: buffer, at: offset + 18)
  }
}

/// The order of a list, which is that of the primary key: PostgreSQL compares bytes without a sign,
/// and `shard` with one.
extension RowAddress: Comparable {
  package static func < (left: RowAddress, right: RowAddress) -> Bool {
    if left.namespace != right.namespace { return left.namespace < right.namespace }
    if left.shard != right.shard { return left.shard.number < right.shard.number }
    return left.tag.bytes.precedes(right.tag.bytes)
  }
}

extension NamespaceHash: Comparable {
  package static func < (left: NamespaceHash, right: NamespaceHash) -> Bool {
    left.bytes.precedes(right.bytes)
  }
}

extension Bytes16 {
  /// Whether the bytes come first in the order of `bytea`; each half begins with its lowest byte.
  fileprivate func precedes(_ other: Bytes16) -> Bool {
    (low.byteSwapped, high.byteSwapped) < (other.low.byteSwapped, other.high.byteSwapped)
  }
}

/// Where the lease of a name lies: the primary key of the table `lease`.
package struct LeaseAddress: Hashable, Sendable {
  package let shard: Shard
  package let tag: LeaseTag
}

/// A keyed hash of a namespace: `hash of service and group 8 ‖ hash of the whole namespace 8`.
///
/// It groups rows and identifies none: the first half is that of all installs of a service and
/// group.
package struct NamespaceHash: Hashable, Sendable {
  package let bytes: Bytes16

  package init(bytes: Bytes16) {
    self.bytes = bytes
  }
}

/// Sixteen bits that say where an item may live, for partitions and shards.
package struct Shard: Hashable, Sendable {
  package let number: Int16

  package init(_ number: Int16) {
    self.number = number
  }
}

/// A keyed hash of an item's name.
package struct RowTag: Hashable, Sendable {
  package let bytes: Bytes16

  package init(bytes: Bytes16) {
    self.bytes = bytes
  }
}

/// A keyed hash of the name of an exclusive access; its key is not that of items' tags.
package struct LeaseTag: Hashable, Sendable {
  package let bytes: Bytes16
}
