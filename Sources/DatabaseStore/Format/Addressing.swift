import SealedStore
package import SessionToolsBase

/// Finding the places of names, with the keys derived from the index key.
extension DatabaseKeys {
  /// Returns the address of an item's row.
  ///
  /// - Throws: `invalidName`, which no valid key causes.
  package func address(of key: StoreKey) throws(StoreError) -> RowAddress {
    let name = EncodedKey(key)
    return RowAddress(
      namespace: hash(of: key.namespace), place: try place(of: key, name),
      tag: RowTag(bytes: name.hash(key: index.tag)))
  }

  /// Returns the address of the lease on an item's name.
  ///
  /// - Throws: `invalidName`, which no valid key causes.
  package func leaseAddress(of key: StoreKey) throws(StoreError) -> LeaseAddress {
    let name = EncodedKey(key)
    return LeaseAddress(
      place: try place(of: key, name), tag: LeaseTag(bytes: name.hash(key: index.lease)))
  }

  /// Returns the hash that all rows of a namespace have.
  package func hash(of namespace: StoreNamespace) -> NamespaceHash {
    let known = lastNamespace.withLock { $0 }
    if let known, known.namespace == namespace { return known.hash }
    let name = EncodedKey(namespace)
    let group = name.hash(0..<name.groupByteCount, key: index.group)
    let whole = name.hash(key: index.namespace)
    let hash = NamespaceHash(bytes: Bytes16(low: group.low, high: whole.low))
    lastNamespace.withLock { $0 = HashedNamespace(namespace: namespace, hash: hash) }
    return hash
  }

  /// Computes the place from the name of the item's spent mark, which both of them lead to.
  ///
  /// The other way round, the mark of a long name does not show its item.
  private func place(of key: StoreKey, _ name: EncodedKey) throws(StoreError) -> Place {
    let mark = SpentNotice.isNotice(key) ? name : EncodedKey(try SpentNotice.key(for: key))
    return Place(Int16(truncatingIfNeeded: mark.hash(key: index.place).low))
  }
}

/// A namespace, and the hash that all of its rows have.
struct HashedNamespace {
  let namespace: StoreNamespace
  let hash: NamespaceHash
}

/// The canonical bytes of a key or a namespace, and where their parts end.
private struct EncodedKey {
  private let buffer: ByteBuffer
  /// The length of service and group.
  let groupByteCount: Int

  init(_ key: StoreKey) {
    buffer = ByteBuffer(byteCount: key.canonicalByteCount)
    key.storeCanonical(in: buffer, at: 0)
    groupByteCount = Self.groupByteCount(of: key.namespace)
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
