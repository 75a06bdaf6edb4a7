import SecretStores

/// The search for the keys of a store, by the means of its caller.
enum StoreUnlocking {
  /// A means to find a header's store key.
  enum Means {
    /// With a key source, by trying one slot after the other.
    case source(any KeySource)
    /// With the keys that were in use before the header changed.
    case keys(KeyRing)
  }

  /// Finds the keys of a header.
  ///
  /// - Returns: The keys, and the number of the slot that opened, if a slot was used.
  /// - Throws: `wrongKey` when nothing fits, an error of the source, or `corrupt` when a slot is
  ///   for the key, but someone without the keys changed it or the rest of the header.
  static func open(
    _ header: Header, by means: Means, path: String
  ) throws(StoreError) -> (keys: KeyRing, slot: Int?) {
    let search = SlotSearch(
      header.slots, wrapping: header.wrapping, store: path,
      remedy: "List its key slots with session-tools slots list \(path.shellQuoted)",
      forged: { forged(path: path) })
    let (storeKey, slot): (KeyBytes, Int?) =
      switch means {
      case .source(let source): try search.storeKey(from: source)
      case .keys(let keys): (keys.storeKey, nil)
      }
    guard let dataKey = try header.unwrapDataKey(with: storeKey) else {
      if slot == nil { throw search.wrongKey("the store's keys were replaced") }
      throw forged(path: path)
    }
    // The ring that is in use is kept, so that locking the store wipes the only one.
    let keys: KeyRing
    if case .keys(let current) = means, current.dataKey.isEqual(to: dataKey) {
      keys = current
    } else {
      keys = try KeyRing(storeKey: storeKey, dataKey: dataKey)
    }
    guard header.isAuthentic(headerKey: keys.headerKey) else { throw forged(path: path) }
    return (keys, slot)
  }

  /// Returns the error for a header of which a key fits one part and not the whole: it was forged.
  static func forged(path: String) -> StoreError {
    StoreError(
      .corrupt, store: path,
      reason: "the header was changed by someone without its keys",
      remedy: "Put header and header.copy back from a backup, and do not trust this machine")
  }
}
