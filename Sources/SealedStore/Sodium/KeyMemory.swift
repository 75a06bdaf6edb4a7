/// What this machine gives to protect the keys of an open store, for those who look after it.
package enum KeyMemory {
  /// The version of libsodium that is in use, such as "1.0.18".
  package static var libraryVersion: String { Sodium.version }

  /// Whether the keys of one store can be kept out of swap, now.
  package static var canBeLocked: Bool {
    // No memory at all is no locked memory either.
    (try? GuardedMemory(byteCount: KeyRing.byteCount))?.isLocked ?? false
  }
}
