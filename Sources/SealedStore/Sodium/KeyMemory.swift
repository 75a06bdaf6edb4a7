/// The protection that this machine offers for the keys of an open store, for diagnosis.
package enum KeyMemory {
  /// The version of libsodium that is in use, such as "1.0.18".
  package static var libraryVersion: String { Sodium.version }

  /// Whether the keys of one store can be kept out of swap, now.
  package static var canBeLocked: Bool {
    // If there is no memory for keys at all, they cannot be locked either.
    (try? GuardedMemory(byteCount: KeyRing.byteCount))?.isLocked ?? false
  }

  /// Overwrites 64 KiB of the stack below the caller, where a call may have saved registers with a
  /// key.
  package static func wipeStack() { Sodium.wipeStack(byteCount: 64 << 10) }
}
