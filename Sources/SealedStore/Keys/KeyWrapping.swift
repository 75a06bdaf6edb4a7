import SessionToolsBase

/// Wrapping and unwrapping of the two random keys in a header.
extension Header {
  /// Wraps a store key in a slot: `commitment 16 ‖ nonce 24 ‖ AEAD(wrapping key, store key) 48`.
  static func wrap(
    _ storeKey: KeyBytes, in head: SlotHead, with key: WrappingKey, store: StoreIdentifier,
    random: any RandomSource
  ) -> SlotRecord {
    let commitment = commitment(to: key, in: head, store: store)
      .bytes(0..<SlotRecord.commitmentByteCount)
    return SlotRecord(
      head: head, commitment: commitment,
      wrapped: seal(
        storeKey, with: key.bytes, binding: head.bytes + commitment, store: store, random: random))
  }

  /// Unwraps the store key in a slot; `nil` when the slot is not for the wrapping key.
  ///
  /// - Throws: `corrupt` when the slot is for the key and does not open, and `unavailable` when
  ///   the system gives no memory.
  func unwrapStoreKey(
    in slot: SlotRecord, with key: WrappingKey, path: String
  ) throws(StoreError) -> KeyBytes? {
    let commitment = Self.commitment(to: key, in: slot.head, store: store)
    guard Sodium.isEqual(slot.commitment, commitment, at: 0) else { return nil }
    guard let opened = try open(slot.wrapped, with: key.bytes, binding: slot.leadingBytes) else {
      throw StoreUnlocking.forged(path: path)
    }
    return opened
  }

  /// Computes the commitment of a slot to its wrapping key.
  ///
  /// XChaCha20-Poly1305 alone does not commit to its key: someone could make a slot that opens with
  /// two keys, and learn from the store's answer which of them was tried.
  private static func commitment(
    to key: WrappingKey, in head: SlotHead, store: StoreIdentifier
  ) -> ByteBuffer {
    let bound = ByteBuffer(byteCount: 29 + head.byteCount)
    bound.copy(Array("SSNTOOLS slot".utf8), to: 0)
    store.bytes.store(in: bound, at: 13)
    bound.copy(head.bytes, to: 29)
    let commitment = ByteBuffer(byteCount: SlotRecord.commitmentByteCount)
    Sodium.hash16(bound, 0..<bound.byteCount, key: key.bytes).store(in: commitment, at: 0)
    return commitment
  }

  /// Wraps a data key under a store key.
  mutating func wrapDataKey(_ dataKey: KeyBytes, with storeKey: KeyBytes, random: any RandomSource)
  {
    wrappedDataKey = Self.seal(
      dataKey, with: storeKey, binding: Self.dataBinding, store: store, random: random)
  }

  /// Unwraps the data key; `nil` when the store key does not fit.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  func unwrapDataKey(with storeKey: KeyBytes) throws(StoreError) -> KeyBytes? {
    try open(wrappedDataKey, with: storeKey, binding: Self.dataBinding)
  }

  private static let dataBinding = Array("data".utf8)

  /// Returns `magic ‖ format version ‖ store id ‖ binding`.
  private static func associatedData(_ binding: [UInt8], store: StoreIdentifier) -> ByteBuffer {
    let buffer = ByteBuffer(byteCount: 26 + binding.count)
    buffer.store(magic, at: 0)
    buffer.store(formatVersion, at: 8)
    store.bytes.store(in: buffer, at: 10)
    buffer.copy(binding, to: 26)
    return buffer
  }

  private static func seal(
    _ key: KeyBytes, with wrappingKey: KeyBytes, binding: [UInt8], store: StoreIdentifier,
    random: any RandomSource
  ) -> [UInt8] {
    let buffer = ByteBuffer(byteCount: SlotRecord.wrappedByteCount, isSecret: true)
    random.fill(buffer, 0..<Sodium.nonceByteCount)
    key.copy(into: buffer, at: Sodium.nonceByteCount)
    Sodium.seal(
      buffer, 0..<buffer.byteCount, associatedData: associatedData(binding, store: store),
      key: wrappingKey)
    return buffer.bytes(0..<buffer.byteCount)
  }

  private func open(
    _ wrapped: [UInt8], with key: KeyBytes, binding: [UInt8]
  ) throws(StoreError) -> KeyBytes? {
    let buffer = ByteBuffer(wrapped, isSecret: true)
    guard
      Sodium.open(
        buffer, 0..<buffer.byteCount,
        associatedData: Self.associatedData(binding, store: store), key: key)
    else { return nil }
    let opened = try KeyBytes()
    opened.copy(from: buffer, at: Sodium.nonceByteCount)
    return opened
  }
}
