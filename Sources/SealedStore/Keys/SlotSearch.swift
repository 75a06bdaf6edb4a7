package import SessionToolsBase

/// The search for the key slot that a source opens, one slot after the other.
package struct SlotSearch {
  private let slots: [SlotRecord]
  private let wrapping: KeyWrapping
  private let store: String
  private let remedy: String
  private let forged: @Sendable () -> StoreError

  /// - Parameters:
  ///   - slots: The slots of a header.
  ///   - wrapping: The wrapping of the keys in that header.
  ///   - store: The store as a person would name it.
  ///   - remedy: What to do when no slot opens.
  ///   - forged: The error for a slot whose commitment is right and that does not open.
  package init(
    _ slots: [SlotRecord], wrapping: KeyWrapping, store: String, remedy: String,
    forged: @escaping @Sendable () -> StoreError
  ) {
    self.slots = slots
    self.wrapping = wrapping
    self.store = store
    self.remedy = remedy
    self.forged = forged
  }

  /// Finds the store key.
  ///
  /// - Returns: The store key, and the number of the slot that opened, from 1.
  /// - Throws: `wrongKey` when no slot opens, an error of the source, `unavailable` when the system
  ///   gives no memory, or the error for a forged slot.
  package func storeKey(
    from source: any KeySource
  ) throws(StoreError) -> (key: KeyBytes, slot: Int) {
    var refusal: StoreError?
    var asked: [KeySlot.Parameters] = []
    var hasKey = false
    for (position, slot) in slots.enumerated() {
      guard let parameters = slot.parameters else { continue }
      let key: WrappingKey
      do throws(StoreError) {
        try source.checkCost(of: asked + [parameters])
        // Also if the source fails: it may have asked a person, or counted a guess.
        asked.append(parameters)
        guard let made = try source.wrappingKey(for: parameters) else { continue }
        key = made
      } catch {
        // The next slot would cost another guess, or ask a person who does not wait any more.
        if error.endsSearch || error.code == .cancelled {
          throw error.inSlot(position + 1, of: store)
        }
        // Another slot may still open; if none does, this is the error to throw.
        refusal = refusal ?? error.inSlot(position + 1, of: store)
        continue
      }
      hasKey = true
      if let storeKey = try wrapping.unwrapStoreKey(in: slot, with: key, orThrow: forged()) {
        return (storeKey, position + 1)
      }
    }
    if let refusal { throw refusal }
    throw wrongKey(
      hasKey
        ? "the key or passphrase does not open the store"
        : "no slot of the store opens with this kind of key")
  }

  /// Returns the error for keys that do not open the store.
  package func wrongKey(_ reason: String) -> StoreError {
    StoreError(.wrongKey, store: store, reason: reason, remedy: remedy)
  }
}

extension StoreError {
  /// Whether a key source that throws it must not be asked for another slot: it counts its guesses.
  var endsSearch: Bool { code == StoreError.wrongKey || code == StoreError.keyBlocked }

  /// Returns the same error with the store's name, if the source knew only the slot.
  fileprivate func inSlot(_ number: Int, of store: String) -> StoreError {
    guard self.store == Passphrase.slotName else { return self }
    return StoreError(
      code, store: store, reason: "key slot \(number): \(reason)", remedy: remedy, errno: errno,
      underlying: underlying)
  }
}
