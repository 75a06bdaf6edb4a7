import SealedStore
import SessionToolsBase

/// What protects a store, in one line.
enum Protection {
  /// Says it, and where the key is.
  static func say(of store: SealedFileStore, keyPlace: String?) {
    say(of: store, at: .sealed(path: store.path), keyPlace: keyPlace)
  }

  /// Says it of a store of any kind.
  static func say(of store: any SecretStore, at location: StoreLocation, keyPlace: String?) {
    let place = keyPlace.map { "; key in \($0)" } ?? ""
    StandardError.say("\(location): \(store.traits.protection)\(place)")
  }
}
