import DBus
import Foundation
public import SessionToolsBase
import Synchronization

extension SecretServiceStore {
  /// Runs a closure while no other task, thread or process has exclusive access to the name.
  ///
  /// The service has no such locks, so this excludes only programs that use this library on the
  /// same machine: by a lock file below `$XDG_RUNTIME_DIR`.
  ///
  /// - Throws: `timedOut`, `unsafePermissions`, `accessDenied`, `io`, or the closure's errors.
  public func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    let deadline = Deadline(in: timeout)
    try locks.names.lock(key, timeout: timeout)
    defer { locks.names.unlock(key) }
    let held = try locks.file().lock(byte: locks.byte(of: key), timeout: deadline.left)
    defer { held.unlock() }
    return try body()
  }

  /// Runs a closure while no other task, thread or process has exclusive access to the name.
  ///
  /// - Throws: `timedOut`, `cancelled` when the task was cancelled while waiting,
  ///   `unsafePermissions`, `accessDenied`, `io`, or the closure's errors.
  public func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    let deadline = Deadline(in: timeout)
    try await locks.names.lock(key, timeout: timeout)
    defer { locks.names.unlock(key) }
    let held = try await locks.file().lock(byte: locks.byte(of: key), timeout: deadline.left)
    defer { held.unlock() }
    return try await body()
  }
}

/// The lock file that replaces the locks that the service lacks.
final class RuntimeLocks: Sendable {
  let names = NameLocks<StoreKey>(store: "secret service")
  private let opened = Mutex<LockFile?>(nil)

  /// Returns the lock file, in a directory that is made when it is first needed.
  ///
  /// - Throws: `unsafePermissions`, `accessDenied` or `io`.
  func file() throws(StoreError) -> LockFile {
    try opened.withLock { slot -> Result<LockFile, StoreError> in
      if let file = slot { return .success(file) }
      do throws(StoreError) {
        let file = LockFile(try Self.directory())
        slot = file
        return .success(file)
      } catch {
        return .failure(error)
      }
    }.get()
  }

  private static func directory() throws(StoreError) -> PrivateDirectory {
    let path = "\(try UserDirectory.runtime.path)/session-tools"
    let fileSystem = LinuxFileSystem()
    try fileSystem.makeDirectories(path)
    return try PrivateDirectory(path, fileSystem: fileSystem)
  }

  /// Returns the byte of the lock file for a name, in any collection: one collection can have
  /// several names.
  func byte(of key: StoreKey) -> Int {
    let bytes = key.canonicalBytes
    return LockFile.byte(
      for: Checksum.sha256(ByteBuffer(bytes), 0..<bytes.count).load(UInt64.self, at: 0))
  }
}
