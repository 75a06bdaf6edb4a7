import SessionToolsBase

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
    let (storeKey, slot): (KeyBytes, Int?) =
      switch means {
      case .source(let source): try find(in: header, source: source, path: path)
      case .keys(let keys): (keys.storeKey, nil)
      }
    guard let dataKey = try header.unwrapDataKey(with: storeKey) else {
      if slot == nil { throw wrongKey("the store's keys were replaced", path: path) }
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

  private static func find(
    in header: Header, source: any KeySource, path: String
  ) throws(StoreError) -> (KeyBytes, Int?) {
    var refusal: StoreError?
    var tried: [KeySlot.Parameters] = []
    for (position, slot) in header.slots.enumerated() {
      guard let parameters = slot.parameters else { continue }
      let key: WrappingKey
      do throws(StoreError) {
        try source.checkCost(of: tried + [parameters])
        guard let made = try source.wrappingKey(for: parameters) else { continue }
        key = made
      } catch {
        // The next slot would cost another guess.
        if error.endsSearch { throw error.inSlot(position + 1, of: path) }
        // Another slot may still open; if none does, this is the error to throw.
        refusal = refusal ?? error.inSlot(position + 1, of: path)
        continue
      }
      tried.append(parameters)
      if let storeKey = try header.unwrapStoreKey(in: slot, with: key, path: path) {
        return (storeKey, position + 1)
      }
    }
    if let refusal { throw refusal }
    throw wrongKey(
      tried.isEmpty
        ? "no slot of the store opens with this kind of key"
        : "the key or passphrase does not open the store", path: path)
  }

  private static func wrongKey(_ reason: String, path: String) -> StoreError {
    StoreError(
      .wrongKey, store: path, reason: reason,
      remedy: "List its key slots with session-tools slots list \(path.shellQuoted)")
  }

  /// Returns the error for a header of which a key fits one part and not the whole: it was forged.
  static func forged(path: String) -> StoreError {
    StoreError(
      .corrupt, store: path,
      reason: "the header was changed by someone without its keys",
      remedy: "Put header and header.copy back from a backup, and do not trust this machine")
  }
}

extension StoreError {
  /// Whether a key source that throws it must not be asked for another slot: it counts its guesses.
  var endsSearch: Bool { code == StoreError.wrongKey || code == StoreError.keyBlocked }

  /// Returns the same error with the store's path, if the source knew only the slot.
  fileprivate func inSlot(_ number: Int, of path: String) -> StoreError {
    guard store == Passphrase.slotName else { return self }
    return StoreError(
      code, store: path, reason: "key slot \(number): \(reason)", remedy: remedy, errno: errno,
      underlying: underlying)
  }
}
