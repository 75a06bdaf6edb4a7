import SecretStores

/// Wrapping and unwrapping of the two random keys in a header.
extension Header {
  private static let dataBinding = Array("data".utf8)

  private static func wrapping(for store: StoreIdentifier) -> KeyWrapping {
    KeyWrapping(magic: magic, formatVersion: formatVersion, store: store)
  }

  var wrapping: KeyWrapping { Self.wrapping(for: store) }

  /// Wraps a store key in a slot.
  static func wrap(
    _ storeKey: KeyBytes, in head: SlotHead, with key: WrappingKey, store: StoreIdentifier,
    random: any RandomSource
  ) -> SlotRecord {
    wrapping(for: store).wrap(storeKey, in: head, with: key, random: random)
  }

  /// Returns the slots for changing them.
  func slotList(path: String) -> SlotList {
    SlotList(
      slots, wrapping: wrapping, store: path,
      command: { "session-tools slots \($0) \(path.shellQuoted)" },
      forged: { StoreUnlocking.forged(path: path) })
  }

  /// Wraps a data key under a store key.
  mutating func wrapDataKey(_ dataKey: KeyBytes, with storeKey: KeyBytes, random: any RandomSource)
  {
    wrappedDataKey = wrapping.seal(
      dataKey, with: storeKey, binding: Self.dataBinding, random: random)
  }

  /// Unwraps the data key; `nil` when the store key does not fit.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  func unwrapDataKey(with storeKey: KeyBytes) throws(StoreError) -> KeyBytes? {
    try wrapping.open(wrappedDataKey, with: storeKey, binding: Self.dataBinding)
  }
}
