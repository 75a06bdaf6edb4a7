import SealedStore
import SessionToolsBase

/// What protects a store, in one line.
enum Protection {
  /// Says it, and where the key is.
  static func say(of store: SealedFileStore, keyPlace: String?) {
    let place = keyPlace.map { "; key in \($0)" } ?? ""
    StandardError.say("\(store.path): \(store.traits.protection)\(place)")
  }
}
