public import SealedStore
public import SecretStores
import Synchronization

extension SealedDatabaseStore {
  /// Returns the fingerprint of the keys that this store is open with, by which the holder of a
  /// `RecipientKey` knows it.
  ///
  /// A revocation changes it.
  ///
  /// - Throws: `locked`, or `unavailable` when the system gives no memory.
  public func fingerprint() throws(StoreError) -> StoreFingerprint {
    try keys.use { keys throws(StoreError) in try keys.fingerprint() }
  }

  /// Returns the key slots of a store, which anyone who can read its tables may list.
  ///
  /// Blocks while it connects.
  ///
  /// - Throws: As ``open(_:key:options:)``, except for `wrongKey` and an error of a key source.
  public static func keySlots(
    at address: String, options: Options = Options()
  ) throws(StoreError) -> [KeySlot] {
    try header(at: address, options).keySlots
  }

  /// Returns the store's identifier, 32 hexadecimal digits, which anyone who can read its tables
  /// may know.
  ///
  /// It never changes. Blocks while it connects.
  ///
  /// - Throws: As ``keySlots(at:options:)``.
  public static func identifier(
    at address: String, options: Options = Options()
  ) throws(StoreError) -> String {
    try header(at: address, options).store.bytes.hexadecimal
  }

  private static func header(
    at address: String, _ options: Options
  ) throws(StoreError) -> DatabaseHeader {
    let location = try DatabaseLocation(address, options)
    let (database, _) = try location.database(options, until: .now + options.operationTimeout)
    return try database.header(until: database.deadline).header
  }

  /// Returns the key slots of this store, as they are in the database now.
  ///
  /// Blocks for one round trip.
  ///
  /// - Throws: `corrupt` when the header is older than this process has seen it; `unavailable`,
  ///   `accessDenied`, `timedOut` or `io`.
  public func keySlots() throws(StoreError) -> [KeySlot] {
    let header = try keys.header(until: database.deadline).header
    listedSlots.withLock { $0 = header.slots }
    return header.keySlots
  }

  /// Adds a key slot to the store.
  ///
  /// Only the header is rewritten, whatever the store's size. Blocks for two round trips, and
  /// repeats them while other machines change the header.
  ///
  /// - Parameter key: The maker of the new slot.
  /// - Returns: The new slot.
  /// - Throws: `invalidKey` when there are 16 slots already or the passphrase slots would cost more
  ///   than `Passphrase.Limits` allow; `locked`; `wrongKey` when the store's keys were replaced,
  ///   `corrupt`, `unavailable`, `accessDenied`, `noSpace`, `timedOut`, `io` or an error of the
  ///   maker, and nothing was changed; `outcomeUnknown` when no server said in time whether it made
  ///   the change.
  @discardableResult
  public func addSlot(_ key: some SlotMaker) throws(StoreError) -> KeySlot {
    let slot = try key.makeSlot()
    let slots = try changeSlots { slots, storeKey throws(StoreError) in
      try slots.add(slot, from: key, wrapping: storeKey, random: environment.random)
    }
    return slots[slots.count - 1]
  }

  /// Replaces the key of a slot, such as an old passphrase by a new one.
  ///
  /// The slot is the one that had this number when this object opened the store, or listed or
  /// changed its slots last, whatever other machines have changed since.
  ///
  /// The old key, with an old copy of the header, still opens the store: to shut it out, use
  /// ``revoke(keeping:recipients:progress:confirm:)``.
  ///
  /// - Throws: `invalidKey` when there is no such slot any more, or as ``addSlot(_:)``.
  public func changeSlot(_ number: Int, to key: some SlotMaker) throws(StoreError) {
    let listed = listedSlots.withLock(\.self)
    let slot = try key.makeSlot()
    try changeSlots { slots, storeKey throws(StoreError) in
      try slots.change(
        slots.number(of: number, in: listed), to: slot, from: key, wrapping: storeKey,
        random: environment.random)
    }
  }

  /// Removes a key slot of the store.
  ///
  /// The slot is the one that had this number when this object opened the store, or listed or
  /// changed its slots last, whatever other machines have changed since.
  ///
  /// The key, with an old copy of the header, still opens the store: to shut it out, use
  /// ``revoke(keeping:recipients:progress:confirm:)``.
  ///
  /// - Throws: `invalidKey` when there is no such slot any more or it is the last one, or as
  ///   ``addSlot(_:)``.
  public func removeSlot(_ number: Int) throws(StoreError) {
    let listed = listedSlots.withLock(\.self)
    try changeSlots { slots, _ throws(StoreError) in
      try slots.remove(slots.number(of: number, in: listed))
    }
  }

  @discardableResult
  private func changeSlots(
    _ change: (inout SlotList, KeyBytes) throws(StoreError) -> Void
  ) throws(StoreError) -> [KeySlot] {
    let header = try changeHeader { draft throws(StoreError) in
      var slots = draft.stored.header.slotList(of: database.name)
      try change(&slots, draft.storeKey)
      draft.stored.header.slots = slots.records
      return true
    }.header
    listedSlots.withLock { $0 = header.slots }
    return header.keySlots
  }
}
