package import SecretStores

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
  /// An error of the source for one slot does not keep the other slots from being tried. Only a
  /// wrong guess does, for slots of the same kind: the next one would cost another guess.
  ///
  /// - Returns: The store key, and the number of the slot that opened, from 1.
  /// - Throws: `wrongKey` when no slot opens, the error of the source that says most about what to
  ///   do, `wrongStore` when the source does not accept the store, `unavailable` when the system
  ///   gives no memory, or the error for a forged slot.
  package func storeKey(
    from source: any KeySource
  ) throws(StoreError) -> (key: KeyBytes, slot: Int) {
    var refusal: StoreError?
    var (asked, guessed): ([KeySlot.Parameters], [KeySlot.Parameters]) = ([], [])
    var hasKey = false
    for (position, slot) in slots.enumerated() {
      guard let parameters = slot.parameters, !guessed.contains(where: parameters.isOfSameKind)
      else { continue }
      let key: WrappingKey
      do throws(StoreError) {
        try source.checkCost(of: asked + [parameters])
        // Also if the source fails: it may have asked a person, or counted a guess.
        asked.append(parameters)
        guard let made = try source.wrappingKey(for: parameters) else { continue }
        key = made
      } catch {
        let hasOthers = slots.count > 1 && (error.code == .keyMissing || error.code == .keyBlocked)
        let error = error.inSlot(
          KeySlot(number: position + 1, parameters: parameters), of: store,
          remedy: hasOthers ? "Or give the key of another slot. \(remedy)" : nil)
        // A person who cancelled does not wait for another slot.
        if error.code == .cancelled { throw error }
        if error.code == .wrongKey { guessed.append(parameters) }
        // Another slot may still open; if none does, one of these errors is to be thrown.
        if refusal.map({ $0.isOfAbsentKey && !error.isOfAbsentKey }) ?? true { refusal = error }
        continue
      }
      hasKey = true
      if let storeKey = try wrapping.unwrapStoreKey(in: slot, with: key, orThrow: forged()) {
        let fingerprint = try StoreFingerprint(of: wrapping.store, storeKey: storeKey)
        try source.checkStore(fingerprint, named: store, openedBy: parameters)
        return (storeKey, position + 1)
      }
    }
    if let refusal { throw refusal }
    throw hasKey
      ? wrongKey("the key or passphrase does not open the store")
      : wrongKey("no slot of the store opens with this kind of key").with(.otherKindOfKey)
  }

  /// Returns the error for keys that do not open the store.
  package func wrongKey(_ reason: String) -> StoreError {
    StoreError(.wrongKey, store: store, reason: reason, remedy: remedy)
  }
}

extension StoreError {
  /// Whether it only says that the key of a slot cannot be used here: the error of a key that can
  /// says more about what to do.
  fileprivate var isOfAbsentKey: Bool { code == StoreError.keyMissing || code == .invalidKey }

  /// The name of a slot in an error whose thrower does not know the store.
  package static let slotName = "key slot"

  /// Whether it is about a slot, and its thrower did not know of which store.
  var isOfSlot: Bool { store == Self.slotName }

  /// Returns the same error with the names of the store and the slot, and what else to do, if the
  /// source did not know them.
  func inSlot(_ slot: KeySlot, of store: String, remedy added: String? = nil) -> StoreError {
    guard isOfSlot else { return self }
    let label = slot.label.isEmpty ? "" : " (\(slot.label))"
    let remedies = [remedy, added].compactMap(\.self)
    return StoreError(
      code, store: store, reason: "\(Self.slotName) \(slot.number)\(label): \(reason)",
      remedy: remedies.isEmpty ? nil : remedies.joined(separator: ". "), errno: errno,
      underlying: underlying)
  }
}

extension KeySlot.Parameters {
  /// Whether a source may guess one secret for both slots, such as the PIN of a token.
  fileprivate func isOfSameKind(as other: KeySlot.Parameters) -> Bool {
    switch (self, other) {
    case (.rawKey, .rawKey), (.passphrase, .passphrase): true
    case (.namedKey(let one), .namedKey(let other)):
      KeyReference(one)?.scheme == KeyReference(other)?.scheme
    default: false
    }
  }
}
