import CSessionToolsSodium
package import SecretStores

/// Memory for keys: between guard pages, kept out of swap and core dumps where the system allows
/// it, and wiped when it is released.
///
/// All keys of a store share one allocation: each allocation costs four mappings, and a process has
/// a limited number of these.
///
/// One thread writes the memory while it sets it up. After that it is only read, until the owner
/// calls ``wipe()`` at a time when nothing reads it. This makes the unchecked conformance correct.
@safe package final class GuardedMemory: @unchecked Sendable {
  let byteCount: Int
  /// Whether the pages are really locked into memory: libsodium reports no error when the limit for
  /// locked memory (`RLIMIT_MEMLOCK`) is reached.
  package let isLocked: Bool
  private let start: UnsafeMutableRawPointer

  /// - Throws: `unavailable` when the system gives no memory.
  package init(byteCount: Int) throws(StoreError) {
    guard Sodium.isReady, let start = unsafe sodium_malloc(byteCount) else {
      throw StoreError(
        .unavailable, store: "key memory",
        reason: "the system did not provide guarded memory for keys")
    }
    self.byteCount = byteCount
    unsafe self.start = start
    // sodium_malloc does not report whether it locked the pages, so lock them again. This also
    // excludes them from core dumps.
    isLocked = unsafe sodium_mlock(start, byteCount) == 0
    unsafe sodium_memzero(start, byteCount)
  }

  deinit {
    // This wipes the memory, checks the canary before it, and unlocks the pages.
    unsafe sodium_free(start)
  }

  package func wipe() {
    unsafe sodium_memzero(start, byteCount)
  }

  /// The key at an offset in this memory.
  package subscript(offset: Int, count: Int = Sodium.keyByteCount) -> KeyBytes {
    KeyBytes(memory: self, offset: offset, byteCount: count)
  }

  fileprivate func pointer(to offset: Int, byteCount: Int) -> UnsafeMutablePointer<UInt8> {
    precondition(offset >= 0 && offset + byteCount <= self.byteCount, "outside of key memory")
    return unsafe (start + offset).assumingMemoryBound(to: UInt8.self)
  }
}

/// A key of 16 or 32 bytes in guarded memory, which it keeps alive.
package struct KeyBytes: Sendable {
  private let memory: GuardedMemory
  private let offset: Int
  let byteCount: Int

  fileprivate init(memory: GuardedMemory, offset: Int, byteCount: Int) {
    self.memory = memory
    self.offset = offset
    self.byteCount = byteCount
  }

  /// Allocates a key in memory of its own, all zeros at first.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  package init() throws(StoreError) {
    self = try GuardedMemory(byteCount: Sodium.keyByteCount)[0]
  }

  var pointer: UnsafePointer<UInt8> {
    unsafe UnsafePointer(memory.pointer(to: offset, byteCount: byteCount))
  }

  var mutablePointer: UnsafeMutablePointer<UInt8> {
    unsafe memory.pointer(to: offset, byteCount: byteCount)
  }

  /// Compares in constant time.
  func isEqual(to other: KeyBytes) -> Bool {
    unsafe byteCount == other.byteCount
      && sodium_memcmp(pointer, other.pointer, byteCount) == 0
  }

  package func copy(to other: KeyBytes) {
    precondition(byteCount == other.byteCount, "keys of one size")
    unsafe other.mutablePointer.update(from: pointer, count: byteCount)
  }

  /// Copies the key from a buffer, for example after it was unwrapped there.
  func copy(from buffer: ByteBuffer, at offset: Int) {
    unsafe sodium_memzero(mutablePointer, byteCount)
    unsafe UnsafeMutableRawPointer(mutablePointer).copyMemory(
      from: buffer.pointer(to: offset..<offset + byteCount), byteCount: byteCount)
  }

  /// Copies the key into a buffer in which it will be wrapped.
  func copy(into buffer: ByteBuffer, at offset: Int) {
    unsafe buffer.pointer(to: offset..<offset + byteCount)
      .copyMemory(from: pointer, byteCount: byteCount)
  }

  /// Copies the key from a secret of the same size.
  package func copy(from secret: SecretBytes) {
    precondition(secret.byteCount == byteCount, "a secret of the key's size")
    secret.withBytes { span in
      unsafe span.withUnsafeBytes { source in
        guard let from = source.baseAddress else { return }
        unsafe UnsafeMutableRawPointer(mutablePointer).copyMemory(
          from: from, byteCount: byteCount)
      }
    }
  }
}

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
  /// key, and these registers, which a new thread begins with.
  package static func wipeStack() { Sodium.wipeStack(byteCount: 64 << 10) }
}
