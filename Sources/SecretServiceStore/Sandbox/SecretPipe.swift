import CSessionToolsLinux
import SessionToolsDBus
import SecretStores
import Synchronization

/// A pipe through which a program on the bus hands over a secret.
final class SecretPipe: Sendable {
  /// The longest secret; a longer one is not a key.
  static let maximumByteCount = 4096

  private let reader: BusDescriptor
  private let untakenWriter: Mutex<BusDescriptor?>

  /// - Throws: `disconnected` when the process has too many files open.
  init() throws(DBusError) {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe2(&ends, O_CLOEXEC) == 0 else {
      throw DBusError(.disconnected, "no pipe could be made: too many files are open")
    }
    reader = BusDescriptor(taking: ends[0])
    untakenWriter = Mutex(BusDescriptor(taking: ends[1]))
  }

  /// Returns the end for the other program, once: as long as this process has it, the secret does
  /// not end.
  func takeWriter() -> BusDescriptor? {
    untakenWriter.withLock { $0.take() }
  }

  /// Reads until all copies of the other end are closed.
  ///
  /// - Returns: The secret; one byte more than the longest of one that is too long.
  /// - Throws: `timedOut` or `cancelled`.
  func readToEnd(until deadline: Deadline) async throws(DBusError) -> SecretBytes {
    let buffer = ByteBuffer(byteCount: Self.maximumByteCount + 1, isSecret: true)
    var byteCount = 0
    while byteCount < buffer.byteCount {
      try await reader.waitUntilReadable(until: deadline)
      let rest = byteCount..<buffer.byteCount
      let count = unsafe read(reader.number, buffer.pointer(to: rest), rest.count)
      // A pipe that can be read fails only for a signal.
      guard count != 0 else { break }
      byteCount += max(count, 0)
    }
    return SecretBytes(in: buffer, 0..<byteCount)
  }
}
