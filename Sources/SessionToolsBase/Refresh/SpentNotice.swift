/// A notice that an item's refresh token may have been used up.
///
/// It is made durable before the token is sent, and removed in the same change that stores the new
/// item. Its value is always the same. A stale notice is harmless: it only sets `mayBeSpent` on the
/// next request.
///
/// It is stored in the item's namespace, so that it is moved, adopted and purged with the item.
package enum SpentNotice {
  static let bytes = SecretBytes(utf8: "1")

  private static let prefix = "org.session-tools.refresh:"

  /// Returns the name of an item's notice.
  ///
  /// - Throws: `invalidName`.
  package static func key(for item: StoreKey) throws(StoreError) -> StoreKey {
    let identifier = prefix + item.identifier
    guard identifier.utf8.count <= Name.largestByteCount else {
      let fingerprint = SecretBytes(item.canonicalBytes).fingerprint
      return try StoreKey(prefix + "#" + String(fingerprint, radix: 16), in: item.namespace)
    }
    return try StoreKey(identifier, in: item.namespace)
  }

  /// Returns whether a key has the form of a notice's name, byte for byte.
  package static func isNotice(_ key: StoreKey) -> Bool {
    key.identifier.utf8.starts(with: prefix.utf8)
  }
}

/// The version of an item, among those stored one after the other under one name.
package enum ItemVersion: Hashable, Sendable {
  /// The bytes, identified by their length and fingerprint.
  case bytes(count: Int, fingerprint: UInt128)
  /// The number of a change, where the bytes are unknown.
  case change(Int)

  /// Identifies bytes.
  package init(_ bytes: SecretBytes) {
    self = .bytes(count: bytes.byteCount, fingerprint: bytes.fingerprint)
  }
}
