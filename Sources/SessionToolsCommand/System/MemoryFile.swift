import CSessionToolsLinux
import Glibc
import SessionToolsBase

/// A file without a name, in memory alone, that holds a secret for another program.
///
/// The kernel may move its pages into swap, as those of the program that reads it.
final class MemoryFile {
  /// The file's descriptor, which no program inherits by default.
  let descriptor: Int32

  /// Makes a file with content, to be read from its start.
  ///
  /// - Throws: The error of a call.
  init(_ content: SecretBytes) throws(SystemCallError) {
    descriptor = session_tools_memory_file()
    guard descriptor >= 0 else { throw SystemCallError("memfd_create", errno) }
    try System.write(content, to: descriptor)
    try rewind()
  }

  /// Reads the whole file; returns `nil` if it has more bytes than the limit.
  ///
  /// - Throws: The error of a call.
  func content(atMost maximumByteCount: Int) throws(SystemCallError) -> SecretBytes? {
    try rewind()
    return try System.readAll(descriptor, atMost: maximumByteCount)
  }

  private func rewind() throws(SystemCallError) {
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw SystemCallError("lseek", errno) }
  }

  deinit {
    guard descriptor >= 0 else { return }
    // The pages are freed now, and the kernel zeroes pages before it gives them to anyone, even if
    // a program still has the file open.
    ftruncate(descriptor, 0)
    close(descriptor)
  }
}
