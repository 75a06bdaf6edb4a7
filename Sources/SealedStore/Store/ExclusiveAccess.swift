public import SessionToolsBase

extension SealedFileStore {
  /// Runs a closure while no other task, thread or process has exclusive access to the name.
  ///
  /// - Throws: `locked`, `timedOut`, `io`, or an error of the closure.
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
  /// - Throws: `locked`, `timedOut`, `cancelled` when the task was canceled while waiting,
  ///   `io`, or an error of the closure.
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

  /// Returns the byte of the lock file that stands for a name.
  ///
  /// Every user of the machine sees the locks in /proc/locks, so the name is hashed together
  /// with the store's identifier, which only this user can read. It is not hashed with a key: keys
  /// change, and then two holders of the same name would not exclude each other.
  private func lockByte(of key: StoreKey) throws(StoreError) -> Int {
    let identifier = try withState { $0.header.store }
    let input = ByteBuffer(byteCount: 16 + key.canonicalByteCount)
    identifier.bytes.store(in: input, at: 0)
    key.storeCanonical(in: input, at: 16)
    return LockFile.byte(for: Sodium.hash16(input, 0..<input.byteCount, key: nil).low)
  }
}
