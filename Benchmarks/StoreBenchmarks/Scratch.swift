import Foundation
import Items
import SealedStore
import SessionToolsBase

/// Stores in a temporary directory of this process.
enum Scratch {
  private static let path =
    "\(NSTemporaryDirectory())session-tools-benchmarks-\(ProcessInfo.processInfo.processIdentifier)"

  /// Removes all stores.
  static func remove() throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    try FileManager.default.removeItem(atPath: path)
  }

  /// Creates a store with the first `itemCount` items in it.
  static func store(of itemCount: Int = 0) throws -> StoreAndKey {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let name = "\(path)/\(UUID().uuidString)"
    let key = try RawKey(RawKey.random())
    let store = try SealedFileStore.create(at: name, key: key)
    // In changes of 100,000, because a whole change is in memory.
    for first in stride(from: 0, to: itemCount, by: 100_000) {
      try store.apply(Items.puts(first..<min(first + 100_000, itemCount)))
    }
    return StoreAndKey(store: store, key: key)
  }
}

/// A store and the key that opens it.
struct StoreAndKey {
  let store: SealedFileStore
  let key: RawKey
}
