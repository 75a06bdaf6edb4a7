public import SessionToolsBase

extension SealedFileStore {
  /// Runs a closure while no other task, thread or process has exclusive access to the name.
  ///
  /// - Throws: `locked`, `timedOut`, `io`, or what the closure throws.
  public func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    let deadline = ContinuousClock.now + timeout
    let byte = try lockByte(of: key)
    try names.lock(key, timeout: timeout)
    defer { names.unlock(key) }
    let held = try lockFile.lock(byte: byte, timeout: deadline - .now)
    defer { held.unlock() }
    return try body()
  }

  /// Runs a closure while no other task, thread or process has exclusive access to the name.
  ///
  /// - Throws: `locked`, `timedOut`, `cancelled` when the task was cancelled while waiting,
  ///   `io`, or what the closure throws.
  public func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    let deadline = ContinuousClock.now + timeout
    let byte = try lockByte(of: key)
    try await names.lock(key, timeout: timeout)
    defer { names.unlock(key) }
    let held = try await lockFile.lock(byte: byte, timeout: deadline - .now)
    defer { held.unlock() }
    return try await body()
  }

  /// The byte of the lock file that stands for a name: a hash that only holders of the store's
  /// keys can compute, because every user of the machine sees the locks in /proc/locks.
  ///
  /// Made with the header key, which a rotation does not change.
  private func lockByte(of key: StoreKey) throws(StoreError) -> Int {
    let canonicalKey = ByteBuffer(byteCount: key.canonicalByteCount)
    key.storeCanonical(in: canonicalKey, at: 0)
    return try withState { open in
      StoreLock.byte(
        for: Sodium.hash16(
          canonicalKey, 0..<canonicalKey.byteCount, key: open.keys.headerKey))
    }
  }
}
