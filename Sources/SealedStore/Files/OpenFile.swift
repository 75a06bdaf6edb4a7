import SessionToolsBase

/// An open file of a store; closed when the last reference goes.
final class OpenFile: Sendable {
  let descriptor: Descriptor
  private let name: String
  private let directory: StoreDirectory

  init(_ descriptor: Descriptor, name: String, directory: StoreDirectory) {
    self.descriptor = descriptor
    self.name = name
    self.directory = directory
  }

  deinit {
    directory.fileSystem.close(descriptor)
  }

  private var path: String { directory.pathOfFile(name) }

  /// What the kernel says of it.
  ///
  /// - Throws: `io`.
  func status() throws(StoreError) -> FileStatus {
    do throws(SystemCallError) {
      return try directory.fileSystem.status(of: descriptor)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Reads until the range is full or the file ends; the number of bytes read.
  ///
  /// - Throws: `io`.
  func read(
    at offset: Int, into buffer: ByteBuffer, _ range: Range<Int>
  ) throws(StoreError) -> Int {
    do throws(SystemCallError) {
      return try directory.fileSystem.read(descriptor, at: offset, into: buffer, range)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Writes a whole range.
  ///
  /// - Throws: `noSpace`, `accessDenied` or `io`; a part may have been written then.
  func write(_ buffer: ByteBuffer, _ range: Range<Int>, at offset: Int) throws(StoreError) {
    do throws(SystemCallError) {
      try directory.fileSystem.writeAll(buffer, range, to: descriptor, at: offset)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Cuts the file.
  ///
  /// - Throws: `io`.
  func truncate(to byteCount: Int) throws(StoreError) {
    do throws(SystemCallError) {
      try directory.fileSystem.truncate(descriptor, to: byteCount)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Makes what was written to a file in use durable.
  ///
  /// - Throws: `outcomeUnknown`.
  func synchronizeData() throws(StoreError) {
    do throws(SystemCallError) {
      try directory.fileSystem.synchronizeData(descriptor)
    } catch {
      throw .outcomeUnknown(error, path: path)
    }
  }

  /// Makes content and metadata of a new file durable, before anyone uses it.
  ///
  /// - Throws: `io`; nothing was changed then, since nobody knows the file yet.
  func synchronize() throws(StoreError) {
    do throws(SystemCallError) {
      try directory.fileSystem.synchronize(descriptor)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Copies a part into another file, a mebibyte at a time.
  ///
  /// - Throws: `noSpace` or `io`.
  func copy(_ range: Range<Int>, to other: OpenFile, at target: Int) throws(StoreError) {
    let buffer = ByteBuffer(byteCount: 1 << 20)
    var done = 0
    while done < range.count {
      let wanted = min(buffer.byteCount, range.count - done)
      let count = try read(at: range.lowerBound + done, into: buffer, 0..<wanted)
      if count == 0 { return }
      try other.write(buffer, 0..<count, at: target + done)
      done += count
    }
  }

  /// Whether both files have the same bytes.
  ///
  /// - Throws: `io`.
  func hasSameContent(as other: OpenFile) throws(StoreError) -> Bool {
    let byteCount = try status().byteCount
    guard try other.status().byteCount == byteCount else { return false }
    let (ours, theirs) = (ByteBuffer(byteCount: 1 << 16), ByteBuffer(byteCount: 1 << 16))
    var done = 0
    while done < byteCount {
      let count = try read(at: done, into: ours, 0..<ours.byteCount)
      guard count > 0, try other.read(at: done, into: theirs, 0..<theirs.byteCount) == count,
        ours.bytes(0..<count) == theirs.bytes(0..<count)
      else { return false }
      done += count
    }
    return true
  }
}
