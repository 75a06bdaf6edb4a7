import SealedStore
import SessionToolsBase

/// A store that items are migrated from or to.
struct MigratedStore {
  let store: any MigratableStore
  /// The location, if it is a store of this library.
  var location: StoreLocation?
  /// The key that opened it, if it is a sealed store.
  var key: (any KeySource)?
}
