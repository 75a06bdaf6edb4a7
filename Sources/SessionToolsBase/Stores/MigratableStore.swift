/// A store that tells a migration more than every store can.
///
/// Others can be migrated as well: item by item, and only if everything in them can be listed. But
/// nothing is removed from a store that cannot be told apart from others: if source and target
/// were two ways to the same items, what was copied would be removed with what it was copied from.
///
/// All of it blocks as the store's other blocking operations do.
public protocol MigratableStore: SecretStore {
  /// The keys of all items, as far as the store can tell when some of them are damaged.
  ///
  /// - Throws: As ``SecretStore/keys(in:)``, for the store as a whole.
  func listing() throws(StoreError) -> StoreListing

  /// Reads the values of the first of some keys together, in less time than one after the other.
  ///
  /// How many is up to the store, which keeps to a few megabytes.
  ///
  /// - Parameter keys: The keys, each of them once.
  /// - Returns: The values of the first keys, in their order. `nil` says that a value is to be asked
  ///   for by itself: the item may be absent, or too large to be read with others.
  /// - Throws: As ``SecretStore/value(for:)``, also when only one of them cannot be read.
  func values(ofFirst keys: ArraySlice<StoreKey>) throws(StoreError) -> [SecretBytes?]
}

extension MigratableStore {
  /// The keys of a store that lists all of them, or none.
  ///
  /// - Throws: As ``SecretStore/keys(in:)``.
  public func listing() throws(StoreError) -> StoreListing {
    StoreListing(keys: try keys(in: nil))
  }

  /// None: every value is asked for by itself.
  public func values(ofFirst keys: ArraySlice<StoreKey>) throws(StoreError) -> [SecretBytes?] {
    []
  }
}

/// What a store knows of its items when it cannot read all of them.
public struct StoreListing: Sendable {
  /// The names that are known, in ascending order: reading one of them may tell of damage.
  public let keys: [StoreKey]
  /// Values that were read with the names, because that costs no more.
  public let values: [StoreKey: SecretBytes]
  /// Why there may be more of them; `nil` when there are not.
  public let damage: StoreError?

  /// States what is known.
  public init(
    keys: [StoreKey], values: [StoreKey: SecretBytes] = [:], damage: StoreError? = nil
  ) {
    self.keys = keys
    self.values = values
    self.damage = damage
  }
}
