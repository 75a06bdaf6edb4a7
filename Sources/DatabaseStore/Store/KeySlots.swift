public import SealedStore
public import SecretStores
import Synchronization

extension SealedDatabaseStore {
  /// Returns the fingerprint of the keys that this store is open with.
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
}

extension SealedDatabaseStore: SlotChanging {
  package var random: any RandomSource { environment.random }

  package var numberedSlots: [SlotRecord] { listedSlots.withLock(\.self) }

  @discardableResult
  package func changeSlots(
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
