import Glibc

/// An open file; closed when the last reference is released.
package final class OpenFile: Sendable {
  private let owned: OwnedDescriptor
  private let path: String
  private let isWritable: Bool
  /// Why it is open for reading only; `nil` if that was not tried.
  private let refusal: StoreError?
  private let fileSystem: any FileSystem

  package var descriptor: Descriptor { owned.descriptor }

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - name: The file's name in the directory.
  ///   - directory: The directory.
  ///   - access: How the file is opened.
  ///   - path: The file's path, for errors.
  ///   - fileSystem: The file system that makes the calls.
  ///   - refusal: Why it could not be opened for writing, if that was tried.
  /// - Throws: The error of the call.
  package init(
    _ name: String, in directory: Descriptor, _ access: FileAccess, path: String,
    fileSystem: any FileSystem, after refusal: StoreError? = nil
  ) throws(SystemCallError) {
    self.refusal = refusal
    owned = OwnedDescriptor(try fileSystem.open(name, in: directory, access), of: fileSystem)
    self.path = path
    self.fileSystem = fileSystem
    isWritable = ![.read, .readThroughLinks, .readDirect].contains(access)
  }

  /// Returns the kernel's record of the file.
  ///
  /// - Throws: `io`.
  package func status() throws(StoreError) -> FileStatus {
    try attempt { () throws(SystemCallError) in try fileSystem.status(of: descriptor) }
  }

  /// Reads until the range is full or the file ends, and returns the number of bytes read.
  ///
  /// - Throws: `io`.
  package func read(
    at offset: Int, into buffer: ByteBuffer, _ range: Range<Int>
  ) throws(StoreError) -> Int {
    try attempt { () throws(SystemCallError) in
      try fileSystem.read(descriptor, at: offset, into: buffer, range)
    }
  }

  /// Finds the first byte at or behind an offset that is not in a hole; `nil` when the rest of the
  /// file is a hole.
  ///
  /// - Throws: `io`.
  package func nextData(from offset: Int) throws(StoreError) -> Int? {
    try attempt { () throws(SystemCallError) in try fileSystem.nextData(descriptor, from: offset) }
  }

  /// Finds the start of the trailing zeros of a part of the file.
  ///
  /// Skips holes: otherwise a hole of a gibibyte, which takes no time to make, would take long to
  /// read.
  ///
  /// - Throws: `io`.
  package func startOfTrailingZeros(in range: Range<Int>) throws(StoreError) -> Int {
    let buffer = ByteBuffer(byteCount: min(range.count, 1 << 16))
    var found = range.lowerBound
    var done = range.lowerBound
    while done < range.upperBound {
      let wanted = min(buffer.byteCount, range.upperBound - done)
      let count = try read(at: done, into: buffer, 0..<wanted)
      if count == 0 { break }
      let end = buffer.startOfTrailingZeros(in: 0..<count)
      if end > 0 { found = done + end }
      done += count
      if end == 0, done < range.upperBound { done = try nextData(from: done) ?? range.upperBound }
    }
    return found
  }

  /// Writes a whole range.
  ///
  /// - Throws: `noSpace`, `accessDenied` or `io`; a part may then have been written.
  package func write(_ buffer: ByteBuffer, _ range: Range<Int>, at offset: Int) throws(StoreError) {
    var written = 0
    try write(buffer, range, at: offset, written: &written)
  }

  /// Writes a whole range, and reports how much was written if that fails.
  ///
  /// - Throws: `noSpace`, `accessDenied` or `io`.
  package func write(
    _ buffer: ByteBuffer, _ range: Range<Int>, at offset: Int, written: inout Int
  ) throws(StoreError) {
    try checkIsWritable()
    try attempt { () throws(SystemCallError) in
      try fileSystem.writeAll(buffer, range, to: descriptor, at: offset, done: &written)
    }
  }

  /// Refuses a file that is open for reading only.
  ///
  /// - Throws: `accessDenied`, with the reason why it could not be opened for writing.
  package func checkIsWritable() throws(StoreError) {
    guard !isWritable else { return }
    throw refusal
      ?? StoreError(.accessDenied, store: path, reason: "it was opened for reading", remedy: nil)
  }

  /// Shortens or extends the file.
  ///
  /// - Throws: `accessDenied`, `noSpace` or `io`.
  package func truncate(to byteCount: Int) throws(StoreError) {
    try checkIsWritable()
    try attempt { () throws(SystemCallError) in try fileSystem.truncate(descriptor, to: byteCount) }
  }

  /// Makes the changes to a file in use durable.
  ///
  /// - Throws: `outcomeUnknown`.
  package func synchronizeData() throws(StoreError) {
    do throws(SystemCallError) {
      try fileSystem.synchronizeData(descriptor)
    } catch {
      throw .ofFailedSync(error, path: path)
    }
  }

  /// Returns whether the page cache's copy of the file is the only one.
  ///
  /// - Throws: `io`.
  package func isCacheAuthoritative() throws(StoreError) -> Bool {
    try attempt { () throws(SystemCallError) in try fileSystem.isCacheAuthoritative(descriptor) }
  }

  /// Finds where a part of the file first differs from another file, which is read in whole pages;
  /// the end of the part if they are equal.
  ///
  /// - Throws: `io`.
  package func startOfDifference(
    from direct: OpenFile, in range: Range<Int>
  ) throws(StoreError) -> Int {
    // Memory of this size begins at a page boundary.
    let (ours, theirs) = (ByteBuffer(byteCount: 1 << 20), ByteBuffer(byteCount: 1 << 20))
    var start = range.lowerBound & ~4095
    while start < range.upperBound {
      let count = try read(at: start, into: ours, 0..<ours.byteCount)
      let other = try direct.read(at: start, into: theirs, 0..<theirs.byteCount)
      let common = min(count, other)
      let (left, right) = (ours.bytes(0..<common), theirs.bytes(0..<common))
      if let place = left.indices.first(where: {
        left[$0] != right[$0] && start + $0 >= range.lowerBound
      }) {
        return start + place
      }
      if common < ours.byteCount { return min(start + common, range.upperBound) }
      start += common
    }
    return range.upperBound
  }

  /// Makes content and metadata of a new file durable, before it is used.
  ///
  /// - Throws: `io`; nothing was then changed, since no process knows the file yet.
  package func synchronize() throws(StoreError) {
    try attempt { () throws(SystemCallError) in try fileSystem.synchronize(descriptor) }
  }

  /// Returns whether both files have the same bytes.
  ///
  /// - Throws: `io`.
  package func hasSameContent(as other: OpenFile) throws(StoreError) -> Bool {
    let byteCount = try status().byteCount
    guard try other.status().byteCount == byteCount else { return false }
    let (ours, theirs) = (ByteBuffer(byteCount: 1 << 16), ByteBuffer(byteCount: 1 << 16))
    var done = 0
    while let start = try nextData(from: done, in: other) {
      done = start
      let count = try read(at: done, into: ours, 0..<ours.byteCount)
      guard count > 0, try other.read(at: done, into: theirs, 0..<theirs.byteCount) == count,
        ours.bytes(0..<count) == theirs.bytes(0..<count)
      else { return false }
      done += count
    }
    return true
  }

  /// Finds the next byte that is not in a hole of both files.
  private func nextData(from offset: Int, in other: OpenFile) throws(StoreError) -> Int? {
    [try nextData(from: offset), try other.nextData(from: offset)].compactMap(\.self).min()
  }

  /// Copies everything except the holes into an empty file.
  ///
  /// - Throws: `noSpace` or `io`.
  package func copyData(to other: OpenFile) throws(StoreError) {
    let byteCount = try status().byteCount
    let buffer = ByteBuffer(byteCount: 1 << 20)
    var done = 0
    while let start = try nextData(from: done), start < byteCount {
      let count = try read(at: start, into: buffer, 0..<buffer.byteCount)
      if count == 0 { break }
      try other.write(buffer, 0..<count, at: start)
      done = start + count
    }
    try other.truncate(to: byteCount)
  }

  private func attempt<Value>(
    _ body: () throws(SystemCallError) -> Value
  ) throws(StoreError) -> Value {
    do throws(SystemCallError) {
      return try body()
    } catch {
      throw StoreError(error, path: path)
    }
  }
}

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
