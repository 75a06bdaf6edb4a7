/// A store of this package that gives a migration more information than a plain store can.
///
/// Other stores can be migrated too: item by item, and only if everything in them can be listed.
///
/// All operations block as the store's other blocking operations do.
package protocol MigratableStore: SecretStore {
  /// Returns the keys of all items, or of those that can still be listed if some are damaged.
  ///
  /// - Throws: As ``SecretStore/keys(in:)``, for the store as a whole.
  func listing() throws(StoreError) -> StoreListing

  /// Reads the values of the first of some keys together, faster than one after the other.
  ///
  /// The store decides how many, within a few megabytes.
  ///
  /// - Parameter keys: The keys, each of them once.
  /// - Returns: The values of the first keys, in their order. `nil` means that a value must be read
  ///   by itself: the item may be absent, or too large to be read with others.
  /// - Throws: As ``SecretStore/value(for:)``, also when only one of them cannot be read.
  func values(ofFirst keys: ArraySlice<StoreKey>) throws(StoreError) -> [SecretBytes?]

  /// Returns which of some keys have items, faster than asking for one after the other.
  ///
  /// - Throws: As ``SecretStore/contains(_:)``, also when only one of them is damaged.
  func present(among keys: [StoreKey]) throws(StoreError) -> Set<StoreKey>
}

extension MigratableStore {
  /// Returns the keys of a store that can list either all of them or none.
  ///
  /// - Throws: As ``SecretStore/keys(in:)``.
  package func listing() throws(StoreError) -> StoreListing {
    StoreListing(keys: try keys(in: nil))
  }

  /// Returns no values: each is read by itself.
  package func values(ofFirst keys: ArraySlice<StoreKey>) throws(StoreError) -> [SecretBytes?] {
    []
  }

  /// Asks for each key.
  package func present(among keys: [StoreKey]) throws(StoreError) -> Set<StoreKey> {
    var present: Set<StoreKey> = []
    for key in keys where try contains(key) { present.insert(key) }
    return present
  }
}

extension SecretStore {
  /// Returns the keys of all items, or, of a damaged store that is migratable, all keys that it can
  /// list.
  ///
  /// - Throws: As ``SecretStore/keys(in:)``, for the store as a whole.
  package func fullListing() throws(StoreError) -> StoreListing {
    if let store = self as? any MigratableStore { return try store.listing() }
    return StoreListing(keys: try keys(in: nil))
  }
}

/// A store's knowledge of its items when it cannot read all of them.
package struct StoreListing: Sendable {
  /// The known names, in ascending order: reading one of them may report damage.
  package let keys: [StoreKey]
  /// Values that were read with the names, because that costs no more.
  package let values: [StoreKey: SecretBytes]
  /// Why there may be more items; `nil` when the list is complete.
  package let damage: StoreError?

  /// States the known items.
  package init(
    keys: [StoreKey], values: [StoreKey: SecretBytes] = [:], damage: StoreError? = nil
  ) {
    self.keys = keys
    self.values = values
    self.damage = damage
  }
}
