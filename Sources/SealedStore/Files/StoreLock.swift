import Foundation
import SessionToolsBase

/// The locks of a store among processes: bytes of its `lock` file.
///
/// Byte 0 is the writer's. Exclusive access to a name takes a byte beyond it, chosen by a keyed
/// hash of the name. The locks belong to this open file, so the kernel frees them when the
/// process dies, and two stores opened in one process exclude each other as well.
final class StoreLock: Sendable {
  static let writerByte = 0

  private let file: OpenFile
  private let directory: StoreDirectory

  /// Opens the lock file, making it when it is missing.
  ///
  /// - Throws: `unsafePermissions`, `accessDenied`, `noSpace` or `io`.
  init(_ directory: StoreDirectory) throws(StoreError) {
    guard let file = try directory.open(StoreDirectory.File.lock, .readWriteOrCreate) else {
      throw StoreError(
        StoreError.unavailable, store: directory.path, reason: "the store was removed")
    }
    self.file = file
    self.directory = directory
  }

  /// The byte that stands for a name.
  static func byte(for name: Bytes16) -> Int {
    1 + Int(truncatingIfNeeded: name.low & (1 << 62 - 1))
  }

  /// Takes a byte, blocking the thread until it is free.
  ///
  /// - Throws: `timedOut` or `io`.
  func lock(byte: Int, timeout: Duration) throws(StoreError) {
    var wait = Backoff(timeout: timeout)
    while try !isTaken(byte: byte) {
      guard let pause = wait.next() else { throw timedOut() }
      Thread.sleep(forTimeInterval: pause / .seconds(1))
    }
  }

  /// Takes a byte, suspending the task until it is free.
  ///
  /// - Throws: `timedOut`, `cancelled` or `io`.
  func lock(byte: Int, timeout: Duration) async throws(StoreError) {
    var wait = Backoff(timeout: timeout)
    while try !isTaken(byte: byte) {
      guard let pause = wait.next() else { throw timedOut() }
      do {
        try await Task.sleep(for: pause)
      } catch {
        throw StoreError(
          StoreError.cancelled, store: directory.path,
          reason: "the task was cancelled while it waited for another process")
      }
    }
  }

  /// Frees a byte.
  func unlock(byte: Int) {
    directory.fileSystem.unlock(file.descriptor, byte: byte)
  }

  private func isTaken(byte: Int) throws(StoreError) -> Bool {
    do throws(SystemCallError) {
      return try directory.fileSystem.tryLock(file.descriptor, byte: byte)
    } catch {
      throw StoreError(error, path: directory.pathOfFile(StoreDirectory.File.lock))
    }
  }

  private func timedOut() -> StoreError {
    StoreError(
      StoreError.timedOut, store: directory.path,
      reason: "another process has held the lock for too long",
      remedy: "Find it with fuser \(directory.pathOfFile(StoreDirectory.File.lock).shellQuoted)")
  }
}

/// Pauses between tries for a lock that has no queue: short at first, longer later, never all
/// processes in step.
private struct Backoff {
  private static let longest = Duration.milliseconds(10)

  private let deadline: ContinuousClock.Instant
  private var pause = Duration.microseconds(20)

  init(timeout: Duration) {
    deadline = .now + timeout
  }

  mutating func next() -> Duration? {
    guard ContinuousClock.now < deadline else { return nil }
    defer { pause = min(pause * 2, Self.longest) }
    return pause * Double.random(in: 0.5...1)
  }
}
