import SealedStore
package import SecretStores

/// Finding the shards of names, with the keys derived from the index key.
extension DatabaseKeys {
  /// Returns the address of an item's row.
  package func address(of itemName: ItemName) -> RowAddress {
    let name = EncodedName(itemName)
    return RowAddress(
      namespace: hash(of: itemName.namespace), shard: shard(of: name),
      tag: RowTag(bytes: name.hash(key: index.tag)))
  }

  /// Returns the address of the lease on a name.
  ///
  /// Its shard is that of the name, or of the item for whose refreshes the name is: one statement
  /// finds both in one shard.
  package func leaseAddress(of itemName: ItemName) -> LeaseAddress {
    let name = EncodedName(itemName)
    let item = itemName.itemOfRefreshLock.map { EncodedName($0) } ?? name
    return LeaseAddress(
      shard: shard(of: item), tag: LeaseTag(bytes: name.hash(key: index.lease)))
  }

  /// Returns the hash that all rows of a namespace have.
  package func hash(of namespace: StoreNamespace) -> NamespaceHash {
    let known = lastNamespace.withLock { $0 }
    if let known, known.namespace == namespace { return known.hash }
    let name = EncodedName(namespace)
    let group = name.hash(0..<name.groupByteCount, key: index.group)
    let whole = name.hash(key: index.namespace)
    let hash = NamespaceHash(bytes: Bytes16(low: group.low, high: whole.low))
    lastNamespace.withLock { $0 = HashedNamespace(namespace: namespace, hash: hash) }
    return hash
  }

  private func shard(of name: EncodedName) -> Shard {
    Shard(Int16(truncatingIfNeeded: name.hash(key: index.shard).low))
  }
}

/// A namespace, and the hash that all of its rows have.
struct HashedNamespace {
  let namespace: StoreNamespace
  let hash: NamespaceHash
}

/// The canonical bytes of a name or a namespace, and where their parts end.
private struct EncodedName {
  private let buffer: ByteBuffer
  /// The length of service and group.
  let groupByteCount: Int

  init(_ name: ItemName) {
    buffer = ByteBuffer(byteCount: name.canonicalByteCount)
    name.storeCanonical(in: buffer, at: 0)
    groupByteCount = Self.groupByteCount(of: name.namespace)
  }

  init(_ namespace: StoreNamespace) {
    buffer = ByteBuffer(namespace.canonicalBytes)
    groupByteCount = Self.groupByteCount(of: namespace)
  }

  private static func groupByteCount(of namespace: StoreNamespace) -> Int {
    5 + namespace.service.utf8.count + (namespace.accessGroup.map { 5 + $0.utf8.count } ?? 1)
  }

  func hash(_ range: Range<Int>, key: KeyBytes) -> Bytes16 {
    Sodium.hash16(buffer, range, key: key)
  }

  func hash(key: KeyBytes) -> Bytes16 { hash(0..<buffer.byteCount, key: key) }
}
