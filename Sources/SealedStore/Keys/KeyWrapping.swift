package import SecretStores

/// Wrapping and unwrapping of the random keys in a header, bound to its format and its store.
package struct KeyWrapping: Sendable {
  /// The first eight bytes of the header.
  let magic: UInt64
  let formatVersion: UInt16
  let store: StoreIdentifier

  package init(magic: UInt64, formatVersion: UInt16, store: StoreIdentifier) {
    self.magic = magic
    self.formatVersion = formatVersion
    self.store = store
  }

  /// Wraps a store key in a slot: `commitment 16 ‖ nonce 24 ‖ AEAD(wrapping key, store key) 48`.
  package func wrap(
    _ storeKey: KeyBytes, in head: SlotHead, with key: WrappingKey, random: any RandomSource
  ) -> SlotRecord {
    let commitment = commitment(to: key, in: head).bytes(0..<SlotRecord.commitmentByteCount)
    return SlotRecord(
      head: head, commitment: commitment,
      wrapped: seal(storeKey, with: key.bytes, binding: head.bytes + commitment, random: random))
  }

  /// Unwraps the store key in a slot; `nil` when the slot is not for the wrapping key.
  ///
  /// - Throws: The given error when the slot is for the key and does not open, and `unavailable`
  ///   when the system gives no memory.
  package func unwrapStoreKey(
    in slot: SlotRecord, with key: WrappingKey, orThrow forged: @autoclosure () -> StoreError
  ) throws(StoreError) -> KeyBytes? {
    let commitment = commitment(to: key, in: slot.head)
    guard Sodium.isEqual(slot.commitment, commitment, at: 0) else { return nil }
    guard let opened = try open(slot.wrapped, with: key.bytes, binding: slot.leadingBytes) else {
      throw forged()
    }
    return opened
  }

  /// Computes the commitment of a slot to its wrapping key.
  ///
  /// XChaCha20-Poly1305 alone does not commit to its key: someone could make a slot that opens with
  /// two keys, and learn from the store's answer which of them was tried.
  private func commitment(to key: WrappingKey, in head: SlotHead) -> ByteBuffer {
    let bound = ByteBuffer(byteCount: 29 + head.byteCount)
    bound.store(magic, at: 0)
    bound.copy(" slot", to: 8)
    store.bytes.store(in: bound, at: 13)
    bound.copy(head.bytes, to: 29)
    let commitment = ByteBuffer(byteCount: SlotRecord.commitmentByteCount)
    Sodium.hash16(bound, 0..<bound.byteCount, key: key.bytes).store(in: commitment, at: 0)
    return commitment
  }

  /// Returns `magic ‖ format version ‖ store id ‖ binding`.
  private func associatedData(_ binding: [UInt8]) -> ByteBuffer {
    let buffer = ByteBuffer(byteCount: 26 + binding.count)
    buffer.store(magic, at: 0)
    buffer.store(formatVersion, at: 8)
    store.bytes.store(in: buffer, at: 10)
    buffer.copy(binding, to: 26)
    return buffer
  }

  /// Wraps a key under another one: `nonce 24 ‖ AEAD(wrapping key, key) 48`.
  package func seal(
    _ key: KeyBytes, with wrappingKey: KeyBytes, binding: [UInt8], random: any RandomSource
  ) -> [UInt8] {
    let buffer = ByteBuffer(byteCount: SlotRecord.wrappedByteCount, isSecret: true)
    random.fill(buffer, 0..<Sodium.nonceByteCount)
    key.copy(into: buffer, at: Sodium.nonceByteCount)
    Sodium.seal(
      buffer, 0..<buffer.byteCount, associatedData: associatedData(binding), key: wrappingKey)
    return buffer.bytes(0..<buffer.byteCount)
  }

  /// Unwraps a key; `nil` when the wrapping key or the binding does not fit.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  package func open(
    _ wrapped: [UInt8], with key: KeyBytes, binding: [UInt8]
  ) throws(StoreError) -> KeyBytes? {
    let buffer = ByteBuffer(wrapped, isSecret: true)
    guard
      Sodium.open(
        buffer, 0..<buffer.byteCount, associatedData: associatedData(binding), key: key)
    else { return nil }
    let opened = try KeyBytes()
    opened.copy(from: buffer, at: Sodium.nonceByteCount)
    return opened
  }
}
