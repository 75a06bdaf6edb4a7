/// A key source that opens a store that was just made, so that the store's own is not asked again.
package struct NewSlotKey: KeySource {
  private let slot: (parameters: KeySlot.Parameters, key: WrappingKey)

  /// Takes the slot that the store was made with.
  package init(slot: (parameters: KeySlot.Parameters, key: WrappingKey)) {
    self.slot = slot
  }

  package func wrappingKey(for slot: KeySlot.Parameters) -> WrappingKey? { self.slot.key }

  /// Accepts the store: only this process knows the key of its slot.
  package func checkStore(
    _ fingerprint: StoreFingerprint, named store: String, openedBy slot: KeySlot.Parameters
  ) {}
}
