package import SealedStore
package import SessionToolsBase

/// A store that items are migrated from or to.
package struct MigratedStore {
  package let store: any MigratableStore
  /// The location, if it is a store of this library.
  package var location: StoreLocation?
  /// The key that opened it, if it is sealed with one.
  package var key: (any KeySource)?
  /// Returns what a source without items has in their place.
  package var foundInstead: @Sendable () throws(StoreError) -> [Omission]

  package init(
    store: any MigratableStore, location: StoreLocation? = nil, key: (any KeySource)? = nil,
    foundInstead: @escaping @Sendable () throws(StoreError) -> [Omission] = { [] }
  ) {
    self.foundInstead = foundInstead
    self.store = store
    self.location = location
    self.key = key
  }
}
