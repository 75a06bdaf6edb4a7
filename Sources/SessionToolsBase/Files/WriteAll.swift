import Glibc

extension FileSystem {
  /// Writes a whole range, in as many calls as it takes.
  package func writeAll(
    _ buffer: ByteBuffer, _ range: Range<Int>, to descriptor: Descriptor, at offset: Int
  ) throws(SystemCallError) {
    var done = 0
    try writeAll(buffer, range, to: descriptor, at: offset, done: &done)
  }

  /// Writes a whole range, and reports how much was written if that fails.
  package func writeAll(
    _ buffer: ByteBuffer, _ range: Range<Int>, to descriptor: Descriptor, at offset: Int,
    done: inout Int
  ) throws(SystemCallError) {
    done = 0
    while done < range.count {
      let rest = range.lowerBound + done..<range.upperBound
      let count = try write(buffer, rest, to: descriptor, at: offset + done)
      // The kernel never returns 0 for a regular file; continuing would loop forever.
      guard count > 0 else { throw SystemCallError("pwrite", EIO) }
      done += count
    }
  }
}

extension FileSystem {
  /// Takes an exclusive lock on one byte of a file if no other open file has it.
  package func tryLock(_ descriptor: Descriptor, byte: Int) throws(SystemCallError) -> Bool {
    try tryLock(descriptor, byte: byte, isShared: false)
  }
}

extension SystemCallError {
  /// `EINVAL`.
  package static var invalidArgument: Int32 { EINVAL }
  /// `EEXIST`.
  package static var fileExists: Int32 { EEXIST }
  /// `ENOENT`.
  package static var noSuchFile: Int32 { ENOENT }
}
