import SessionToolsDBus
import Foundation
public import SecretStores
import Synchronization

extension SecretServiceStore {
  /// Runs a closure while no other task, thread or process has exclusive access to the name.
  ///
  /// The service has no such locks, so this excludes only programs that use this library: all that
  /// are on the same bus, by a name on it that only one connection can own. If the connection to
  /// the bus breaks, the access is lost, while the closure continues.
  ///
  /// Where there is no bus, or a sandbox forbids such names, it is a lock file below
  /// `$XDG_RUNTIME_DIR`. For a sandbox `StoreTraits.excludesOtherProcesses` is false, because
  /// programs outside of it are not excluded.
  ///
  /// - Throws: `timedOut`, `unavailable` when the bus cannot be reached, `unsafePermissions`,
  ///   `accessDenied`, `io`, or the closure's errors.
  public func withExclusiveAccess<Result>(
    to itemName: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    let deadline = Deadline(in: timeout)
    try locks.names.lock(itemName, timeout: timeout)
    defer { locks.names.unlock(itemName) }
    if let name = try waiting({ store async throws(StoreError) in
      try await store.ownedName(for: itemName, until: deadline)
    }) {
      defer {
        BlockingAnswer<Void, Never>.wait { [options] in
          await name.release(timeout: options.timeout)
        }
      }
      return try body()
    }
    let held = try locks.file().lock(byte: locks.byte(of: itemName), timeout: deadline.left)
    defer { held.unlock() }
    return try body()
  }

  /// Runs a closure while no other task, thread or process has exclusive access to the name.
  ///
  /// - Throws: As the blocking variant, and `cancelled` when the task was cancelled while waiting.
  public func withExclusiveAccess<Result>(
    to itemName: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    let deadline = Deadline(in: timeout)
    try await locks.names.lock(itemName, timeout: timeout)
    defer { locks.names.unlock(itemName) }
    if let name = try await ownedName(for: itemName, until: deadline) {
      do {
        let result = try await body()
        await name.release(timeout: options.timeout)
        return result
      } catch {
        await name.release(timeout: options.timeout)
        throw error
      }
    }
    let held = try await locks.file().lock(byte: locks.byte(of: itemName), timeout: deadline.left)
    defer { held.unlock() }
    return try await body()
  }

  /// Returns the name on the bus that stands for a name, once no other connection owns it; `nil`
  /// where there can be none.
  private func ownedName(
    for itemName: ItemName, until deadline: Deadline
  ) async throws(StoreError) -> OwnedName? {
    guard bus.isPresent else { return nil }
    do throws(DBusError) {
      // A free name is available in no time, but not without the bus's answer.
      let connection = try await locks.connection(to: bus, until: Deadline(in: options.timeout))
      return try await OwnedName.request(
        RuntimeLocks.busName(of: itemName), on: connection, answerTimeout: options.timeout,
        until: deadline)
    } catch let error where error.saysNameForbidden {
      locks.isFileNeeded.withLock { $0 = true }
      return nil
    } catch let error where error.kind == .timedOut {
      throw StoreError(
        .timedOut, store: name, reason: "another process has held the lock for too long",
        remedy: "Find it with busctl --user status \(RuntimeLocks.busName(of: itemName))",
        underlying: error)
    } catch {
      throw storeError(error)
    }
  }
}

/// The locks that the service lacks.
final class RuntimeLocks: Sendable {
  let names = NameLocks<ItemName>(store: "secret service")
  /// Whether the bus has refused a name.
  let isFileNeeded = Mutex(false)
  private let opened = Mutex<LockFile?>(nil)
  /// Not the connection for calls, which is replaced when the provider is restarted.
  private let connected = Mutex<DBusConnection?>(nil)

  /// Returns the connection that owns names.
  ///
  /// - Throws: `DBusError`.
  func connection(
    to bus: SessionBus, until deadline: Deadline
  ) async throws(DBusError) -> DBusConnection {
    if let connection = connected.withLock(\.self), !connection.isClosed { return connection }
    let new = try await bus.connect(until: deadline)
    return connected.withLock { connection in
      if let connection, !connection.isClosed { return connection }
      connection = new
      return new
    }
  }

  /// Returns the name on the bus for a name, in any collection: one collection can have several
  /// names.
  static func busName(of name: ItemName) -> String {
    // No part of a name on the bus begins with a digit.
    "org.session_tools.Lock.H" + Checksum.hexadecimal(of: name.canonicalBytes).prefix(32)
  }

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

  /// Returns the byte of the lock file for a name.
  func byte(of name: ItemName) -> Int {
    let bytes = name.canonicalBytes
    return LockFile.byte(
      for: Checksum.sha256(ByteBuffer(bytes), 0..<bytes.count).load(UInt64.self, at: 0))
  }
}

extension DBusError {
  /// Whether the bus, or a sandbox's filter in its place, does not let this process own a name.
  fileprivate var saysNameForbidden: Bool {
    [
      "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.ServiceUnknown",
      "org.freedesktop.DBus.Error.NameHasNoOwner",
    ].contains(name)
  }
}
