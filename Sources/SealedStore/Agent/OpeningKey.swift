package import SecretStores
import Synchronization

extension SealedFileStore {
  /// Finds the key of the slot that a source opens; needs only the header, and waits for no lock.
  ///
  /// - Throws: As ``open(at:key:options:)``.
  package static func openingKey(
    at path: String, from source: any KeySource
  ) throws(StoreError) -> (store: StoreIdentifier, key: WrappingKey) {
    let recorder = KeyRecorder(source)
    let (store, keys) = try openHeader(at: path, with: recorder)
    keys.wipe()
    guard let key = recorder.lastKey else {
      preconditionFailure("a slot opens with a key of its source")
    }
    return (store, key)
  }

  /// Returns the fingerprint of a store; needs only the header, and waits for no lock.
  ///
  /// - Throws: As ``open(at:key:options:)``.
  package static func fingerprint(
    at path: String, openedWith source: any KeySource
  ) throws(StoreError) -> StoreFingerprint {
    let (store, keys) = try openHeader(at: path, with: source)
    defer { keys.wipe() }
    return try StoreFingerprint(of: store, storeKey: keys.storeKey)
  }

  private static func openHeader(
    at path: String, with source: any KeySource
  ) throws(StoreError) -> (store: StoreIdentifier, keys: KeyRing) {
    let directory = try PrivateDirectory.ofStore(at: path, fileSystem: LinuxFileSystem())
    let header = try HeaderFiles(directory: directory).read().header
    return (header.store, try StoreUnlocking.open(header, by: .source(source), path: path).keys)
  }

  /// Returns the store's identifier.
  ///
  /// - Throws: As ``keySlots(at:)``.
  package static func storeIdentifier(at path: String) throws(StoreError) -> StoreIdentifier {
    let directory = try PrivateDirectory.ofStore(at: path, fileSystem: LinuxFileSystem())
    return try HeaderFiles(directory: directory).read().header.store
  }
}

/// A key source that remembers the last key of another: the search for a slot ends with the key
/// that opens it.
private final class KeyRecorder: KeySource {
  private let source: any KeySource
  private let key = Mutex<WrappingKey?>(nil)

  init(_ source: any KeySource) {
    self.source = source
  }

  var lastKey: WrappingKey? { key.withLock { $0 } }

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    let found = try source.wrappingKey(for: slot)
    if let found { key.withLock { $0 = found } }
    return found
  }

  func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    try source.checkCost(of: slots)
  }

  func checkStore(
    _ fingerprint: StoreFingerprint, named store: String, openedBy slot: KeySlot.Parameters
  ) throws(StoreError) {
    try source.checkStore(fingerprint, named: store, openedBy: slot)
  }
}
