package import SecretStores

/// What a sealed store of this package does itself; the rest of changing slots is the same for all.
package protocol SlotChanging: SealedSecretStore, MigratableStore {
  /// The store, as messages name it.
  var name: String { get }
  var random: any RandomSource { get }
  /// The slots that the numbers of a caller mean.
  var numberedSlots: [SlotRecord] { get }

  /// Writes a header with changed slots.
  ///
  /// - Parameter change: Changes the slots, and receives the store key. It is called again when
  ///   another machine changed the header meanwhile.
  /// - Returns: The slots as they are now.
  /// - Throws: As ``addSlot(_:)``, apart from `invalidKey`; and an error of the closure.
  @discardableResult
  func changeSlots(
    _ change: (inout SlotList, KeyBytes) throws(StoreError) -> Void
  ) throws(StoreError) -> [KeySlot]

  /// Returns the slots for which a revocation asks its sources.
  ///
  /// - Throws: `locked` before any source is asked.
  func slotsToRevoke() throws(StoreError) -> SlotList

  /// Revokes the keys that are not given, once the plan is confirmed.
  ///
  /// - Throws: As ``revoke(keeping:recipients:progress:confirm:)``.
  func revoke(
    keeping given: GivenKeys, progress: SealedFileStore.Progress?,
    confirm: (RevocationPlan) -> Bool
  ) throws(StoreError) -> Revocation
}

/// The outcome of an attempt to revoke keys.
package enum Revocation {
  /// The slots that are left have the new store key.
  case revoked(KeyBytes)
  case notConfirmed
  /// Another process added slots after the sources were asked.
  case slotsWereAdded(SlotList)
}

extension SlotChanging {
  /// Makes the slot, and adds it.
  @discardableResult
  public func addSlot(_ key: some SlotMaker) throws(StoreError) -> KeySlot {
    let slot = try key.makeSlot()
    let slots = try changeSlots { slots, storeKey throws(StoreError) in
      try slots.add(slot, from: key, wrapping: storeKey, random: random)
    }
    return slots[slots.count - 1]
  }

  /// Makes the slot, and puts it in the place of the one with a number.
  public func changeSlot(_ number: Int, to key: some SlotMaker) throws(StoreError) {
    let listed = numberedSlots
    let slot = try key.makeSlot()
    try changeSlots { slots, storeKey throws(StoreError) in
      try slots.change(
        slots.number(of: number, in: listed), to: slot, from: key, wrapping: storeKey,
        random: random)
    }
  }

  /// Removes the slot with a number.
  public func removeSlot(_ number: Int) throws(StoreError) {
    let listed = numberedSlots
    try changeSlots { slots, _ throws(StoreError) in
      try slots.remove(slots.number(of: number, in: listed))
    }
  }

  /// Asks the sources, and revokes the other keys.
  @discardableResult
  public func revoke(
    keeping sources: [any KeySource], recipients: [Recipient],
    progress: SealedFileStore.Progress?, confirm: (RevocationPlan) -> Bool
  ) throws(StoreError) -> Bool {
    var given = GivenKeys(of: sources, recipients)
    var slots = try slotsToRevoke()
    while true {
      // This is not a part of the change, because a source may take long, and may ask a person.
      try given.ask(for: slots)
      switch try revoke(keeping: given, progress: progress, confirm: confirm) {
      case .revoked: return true
      case .notConfirmed: return false
      case .slotsWereAdded(let current): slots = current
      }
    }
  }
}
