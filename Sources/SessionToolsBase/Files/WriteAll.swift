import Glibc

extension FileSystem {
  /// Writes a whole range, in as many calls as it takes.
  package func writeAll(
    _ buffer: ByteBuffer, _ range: Range<Int>, to descriptor: Descriptor, at offset: Int
  ) throws(SystemCallError) {
    var done = 0
    while done < range.count {
      let rest = range.lowerBound + done..<range.upperBound
      let count = try write(buffer, rest, to: descriptor, at: offset + done)
      // The kernel never answers 0 for a regular file; going on would be an endless loop.
      guard count > 0 else { throw SystemCallError("pwrite", EIO) }
      done += count
    }
  }
}

extension SystemCallError {
  /// `EEXIST`.
  package static var fileExists: Int32 { EEXIST }
  /// `ENOENT`.
  package static var noSuchFile: Int32 { ENOENT }
}
