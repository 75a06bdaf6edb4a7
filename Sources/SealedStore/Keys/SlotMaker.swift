public import SecretStores

/// Something that makes a key slot: a key file, a passphrase, the public key of a recipient.
///
/// Making a store needs one, and so does adding or changing a slot. Opening a store needs a
/// ``KeySource`` instead. Most keys are both; a ``Recipient`` only makes slots, and an ``AgentKey``
/// only opens them.
///
/// A store asks its maker once for each slot, before anything is written. A maker may block and may
/// ask a person: the store never holds the writer's lock meanwhile, so other processes continue.
public protocol SlotMaker: Sendable {
  /// Returns the parameters of a new slot, and the key it is wrapped with.
  ///
  /// - Throws: `keyMissing` when there is no key to make the slot for, or another error that kept
  ///   the maker from making it. The store throws this error, and is not changed.
  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey)
}
