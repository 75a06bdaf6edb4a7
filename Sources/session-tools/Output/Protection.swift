import SealedStore
import SessionToolsBase
import ToolBase

/// The protection of a store, in one line.
enum Protection {
  /// Writes how a sealed store is protected, and where its key is.
  static func say(of store: SealedFileStore, keyPlace: String?) {
    say(of: store, at: .sealed(path: store.path), keyPlace: keyPlace)
  }

  /// Writes how a store of any kind is protected, and where its key is.
  static func say(of store: any SecretStore, at location: StoreLocation, keyPlace: String?) {
    // A store that does not know reports the reason when it is used.
    guard let protection = try? store.protection() else { return }
    let place = keyPlace.map { "; key in \($0)" } ?? ""
    StandardError.say("\(location): \(protection)\(place)")
  }
}
