import Foundation
import Synchronization

/// Locks between processes: bytes of a file named `lock`.
///
/// Byte 0 is the writer's. Exclusive access to a name locks a byte beyond it, chosen by a hash of
/// the name. The last byte gives a turn: locks have no queue, so a program that frees byte 0 and
/// takes it again all the time would leave others a few microseconds to find it free. Those who
/// have waited for a while lock the last byte first, and no other takes byte 0 meanwhile.
///
/// The locks belong to this open file, so the kernel frees them when the process dies,
/// and two stores opened in one process also exclude each other.
package final class LockFile: Sendable {
  package static let name = "lock"
  package static let writerByte = 0
  private static let turnByte = 1 << 62 + 1
  /// How long a program waits for byte 0 before it takes the turn.
  private static let patience = Duration.milliseconds(50)
  /// How long a program leaves byte 0 to the one that has the turn, which may have been stopped.
  private static let courtesy = Duration.milliseconds(100)

  /// The open file and its identity: one object, so that taking a lock copies a single reference.
  private final class Opened: Sendable {
    let file: OpenFile
    let identity: FileStatus

    init(_ file: OpenFile) throws(StoreError) {
      self.file = file
      identity = try file.status()
    }
  }

  private let directory: PrivateDirectory
  /// Opened when first needed, so that a store can be read where nothing can be written.
  private let opened = Mutex<Opened?>(nil)

  package init(_ directory: PrivateDirectory) {
    self.directory = directory
  }

  /// A locked byte.
  package struct Held: Sendable {
    /// `nil` where there is no file to lock, and none can be created.
    fileprivate let file: OpenFile?
    fileprivate let directory: PrivateDirectory
    fileprivate let byte: Int

    /// Frees the byte.
    package func unlock() {
      guard let file else { return }
      directory.fileSystem.unlock(file.descriptor, byte: byte)
    }
  }

  /// Returns the byte that stands for a name.
  package static func byte(for hash: UInt64) -> Int {
    1 + Int(truncatingIfNeeded: hash & (1 << 62 - 1))
  }

  /// Locks a byte, blocking the thread until it is free.
  ///
  /// - Throws: `timedOut`, `unsafePermissions`, `accessDenied` or `io`.
  package func lock(byte: Int, timeout: Duration) throws(StoreError) -> Held {
    let held = try lock(byte: byte, timeout: timeout) { () throws(StoreError) in false }
    guard let held else { throw timedOut() }
    return held
  }

  /// Locks a byte, blocking the thread until it is free or no longer needed.
  ///
  /// - Returns: `nil` when it is no longer needed.
  /// - Throws: `timedOut`, `unsafePermissions`, `accessDenied`, `io`, or what the closure throws.
  package func lock(
    byte: Int, timeout: Duration, unless isNeedless: () throws(StoreError) -> Bool
  ) throws(StoreError) -> Held? {
    try poll(
      byte, timeout,
      { (byte, waited) throws(StoreError) in
        try tryLock(byte: byte, after: waited)
      }, isNeedless)
  }

  /// Locks a byte shared, where the file cannot be written; locks nothing where there is no file.
  ///
  /// - Returns: `nil` when it is no longer needed.
  /// - Throws: As ``lock(byte:timeout:unless:)``.
  package func lockShared(
    byte: Int, timeout: Duration, unless isNeedless: () throws(StoreError) -> Bool
  ) throws(StoreError) -> Held? {
    // A writer would have created the file first.
    guard let file = try directory.open(Self.name, .read) else {
      return Held(file: nil, directory: directory, byte: byte)
    }
    return try poll(
      byte, timeout,
      { (byte, waited) throws(StoreError) in
        do throws(SystemCallError) {
          guard try tryLock(file, byte: byte, isShared: true, after: waited) else { return nil }
        } catch {
          throw StoreError(error, path: directory.pathOfFile(Self.name))
        }
        return Held(file: file, directory: directory, byte: byte)
      }, isNeedless)
  }

  private func poll(
    _ byte: Int, _ timeout: Duration,
    _ attempt: (_ byte: Int, _ waited: Duration) throws(StoreError) -> Held?,
    _ isNeedless: () throws(StoreError) -> Bool
  ) throws(StoreError) -> Held? {
    // Usually it is free.
    if let held = try attempt(byte, .zero) { return held }
    let time = ObservedTime()
    defer { time.reportLockWait(of: directory.path) }
    var wait = Backoff(timeout: timeout)
    var turn: Held?
    defer { turn?.unlock() }
    while true {
      if try isNeedless() { return nil }
      if byte == Self.writerByte, turn == nil, wait.waited > Self.patience {
        turn = try attempt(Self.turnByte, wait.waited)
        // Only the program that has the lock is still before this one.
        if turn != nil { wait.longest = .milliseconds(1) }
      }
      guard let pause = wait.next() else { throw timedOut() }
      Thread.sleep(forTimeInterval: pause / .seconds(1))
      if let held = try attempt(byte, wait.waited) { return held }
    }
  }

  /// Locks a byte, suspending the task until it is free.
  ///
  /// - Throws: `timedOut`, `cancelled`, `unsafePermissions`, `accessDenied` or `io`.
  package func lock(byte: Int, timeout: Duration) async throws(StoreError) -> Held {
    // Usually it is free.
    if let held = try tryLock(byte: byte) { return held }
    let time = ObservedTime()
    defer { time.reportLockWait(of: directory.path) }
    var wait = Backoff(timeout: timeout)
    while true {
      guard let pause = wait.next() else { throw timedOut() }
      do {
        try await Task.sleep(for: pause)
      } catch {
        throw StoreError(
          .cancelled, store: directory.path,
          reason: "the task was cancelled while it waited for another process")
      }
      if let held = try tryLock(byte: byte) { return held }
    }
  }

  private func tryLock(byte: Int, after waited: Duration = .zero) throws(StoreError) -> Held? {
    let lock = try lockFile()
    do throws(SystemCallError) {
      guard try tryLock(lock.file, byte: byte, isShared: false, after: waited) else { return nil }
    } catch {
      throw StoreError(error, path: directory.pathOfFile(Self.name))
    }
    let held = Held(file: lock.file, directory: directory, byte: byte)
    do throws(StoreError) {
      // The file may have been removed meanwhile. Later processes then lock a new one, so a lock on
      // the old one excludes no process.
      let status = try directory.status(of: Self.name)
      if let status, status.isSameFile(as: lock.identity) { return held }
    } catch {
      held.unlock()
      throw error
    }
    held.unlock()
    opened.withLock { if $0 === lock { $0 = nil } }
    return nil
  }

  /// Locks a byte if it is free, and byte 0 only if no other program has the turn.
  private func tryLock(
    _ file: OpenFile, byte: Int, isShared: Bool, after waited: Duration
  ) throws(SystemCallError) -> Bool {
    let files = directory.fileSystem
    if byte == Self.writerByte, waited < Self.courtesy,
      try files.isLocked(file.descriptor, byte: Self.turnByte, isShared: isShared)
    {
      return false
    }
    return try files.tryLock(file.descriptor, byte: byte, isShared: isShared)
  }

  private func lockFile() throws(StoreError) -> Opened {
    try opened.withLock { slot throws(StoreError) in
      if let lock = slot { return lock }
      guard let file = try directory.open(Self.name, .readWriteOrCreate) else {
        throw StoreError(
          .unavailable, store: directory.path, reason: "the store was removed",
          remedy: "Put it back from a backup, or make another one, and open it again")
      }
      let lock = try Opened(file)
      slot = lock
      return lock
    }
  }

  private func timedOut() -> StoreError {
    StoreError(
      .timedOut, store: directory.path,
      reason: "another process has held the lock for too long",
      remedy: "Find it with fuser \(directory.pathOfFile(Self.name).shellQuoted)")
  }
}

/// Pauses between tries for a lock that has no queue: short at first, then longer, and random so
/// that processes do not run in step.
private struct Backoff {
  var longest = Duration.milliseconds(10)

  /// While the machine sleeps, no program can free the lock.
  private let clock = SuspendingClock()
  private let start: SuspendingClock.Instant
  private let timeout: Duration
  private var pause = Duration.microseconds(20)

  init(timeout: Duration) {
    start = clock.now
    self.timeout = timeout
  }

  var waited: Duration { clock.now - start }

  mutating func next() -> Duration? {
    guard waited < timeout else { return nil }
    defer { pause = min(pause * 2, longest) }
    return min(pause, longest) * Double.random(in: 0.5...1)
  }
}
