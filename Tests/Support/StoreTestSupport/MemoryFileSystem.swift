import Glibc
package import SessionToolsBase
import Synchronization

/// A file system in memory that answers as the kernel's does, so that a test can inspect thousands
/// of stores in a second and leaves no files behind.
///
/// Files have an owner, a mode and a number of links. An open file stays usable after its name is
/// removed, and a lock belongs to the open file. There are no symbolic links and no other users.
package final class MemoryFileSystem: FileSystem {
  /// The files of a directory by their names.
  package typealias Content = [String: [UInt8]]

  private let state: Mutex<MemoryFiles>

  /// Creates an empty file system with a root directory.
  package init() {
    state = Mutex(MemoryFiles())
  }

  /// Creates a file system with one directory of mode 0700 and files of mode 0600 in it.
  package convenience init(_ path: String, _ content: Content) throws(SystemCallError) {
    self.init()
    try makeDirectory(path)
    let directory = try openDirectory(path)
    defer { close(directory) }
    for (name, bytes) in content {
      let file = try open(name, in: directory, .create)
      try writeAll(ByteBuffer(bytes), 0..<bytes.count, to: file, at: 0)
      close(file)
    }
  }

  /// Returns the contents of the files of a directory.
  package func content(of path: String) throws(SystemCallError) -> Content {
    try with { files throws(SystemCallError) in
      try files.entries(of: files.resolve(path, "open")).compactMapValues {
        files.nodes[$0]?.content
      }
    }
  }

  /// The number of open descriptors.
  package var descriptorCount: Int { state.withLock { $0.open.count } }

  /// The number of locks that are held.
  package var lockCount: Int { state.withLock { $0.locks.count } }

  private func with<Value: Sendable>(
    _ body: (inout MemoryFiles) throws(SystemCallError) -> Value
  ) throws(SystemCallError) -> Value {
    try state.withLock { files -> Result<Value, SystemCallError> in
      do throws(SystemCallError) {
        return .success(try body(&files))
      } catch {
        return .failure(error)
      }
    }.get()
  }

  package func openDirectory(_ path: String) throws(SystemCallError) -> Descriptor {
    try with { files throws(SystemCallError) in
      let node = try files.resolve(path, "open")
      guard files.nodes[node]?.entries != nil else { throw SystemCallError("open", ENOTDIR) }
      return files.descriptor(of: node, isWritable: false)
    }
  }

  package func makeDirectory(_ path: String) throws(SystemCallError) {
    try with { files throws(SystemCallError) in
      let (parent, name) = try files.resolveParent(of: path, "mkdir")
      guard try files.entries(of: parent)[name] == nil else {
        throw SystemCallError("mkdir", EEXIST)
      }
      let node = files.make(MemoryFiles.Node(permissions: 0o700, entries: [:]))
      try files.setEntry(name, in: parent, to: node)
    }
  }

  package func open(
    _ name: String, in directory: Descriptor, _ access: FileAccess
  ) throws(SystemCallError) -> Descriptor {
    try with { files throws(SystemCallError) in
      if access == .unnamed { throw SystemCallError("openat", EOPNOTSUPP) }
      let parent = try files.directory(directory, "openat")
      if let node = try files.entries(of: parent)[name] {
        if access == .create { throw SystemCallError("openat", EEXIST) }
        if access != .read, access != .readDirect, files.nodes[node]?.entries != nil {
          throw SystemCallError("openat", EISDIR)
        }
        return files.descriptor(of: node, isWritable: access != .read && access != .readDirect)
      }
      guard access == .create || access == .readWriteOrCreate else {
        throw SystemCallError("openat", ENOENT)
      }
      let node = files.make(MemoryFiles.Node(permissions: 0o600))
      try files.setEntry(name, in: parent, to: node)
      return files.descriptor(of: node, isWritable: true)
    }
  }

  package func close(_ descriptor: Descriptor) {
    state.withLock { $0.close(descriptor) }
  }

  package func status(of descriptor: Descriptor) throws(SystemCallError) -> FileStatus {
    try with { files throws(SystemCallError) in
      files.status(of: try files.node(descriptor, "statx"))
    }
  }

  package func status(
    of name: String, in directory: Descriptor
  ) throws(SystemCallError) -> FileStatus? {
    try with { files throws(SystemCallError) in
      if directory == .workingDirectory {
        do throws(SystemCallError) {
          return files.status(of: try files.resolve(name, "statx"))
        } catch let error where error.errno == ENOENT {
          return nil
        }
      }
      let parent = try files.directory(directory, "statx")
      return try files.entries(of: parent)[name].map { files.status(of: $0) }
    }
  }

  package func names(in directory: Descriptor) throws(SystemCallError) -> [String] {
    try with { files throws(SystemCallError) in
      Array(try files.entries(of: files.directory(directory, "openat")).keys)
    }
  }

  package func read(
    _ descriptor: Descriptor, at offset: Int, into buffer: ByteBuffer, _ range: Range<Int>
  ) throws(SystemCallError) -> Int {
    let bytes = try with { files throws(SystemCallError) in
      let node = try files.node(descriptor, "pread")
      guard let content = files.nodes[node]?.content, files.nodes[node]?.entries == nil else {
        throw SystemCallError("pread", EISDIR)
      }
      guard offset < content.count else { return [] as [UInt8] }
      return Array(content[offset..<min(content.count, offset + range.count)])
    }
    buffer.copy(bytes, to: range.lowerBound)
    return bytes.count
  }

  /// Returns the offset itself, unless it is at the end: this file system has no holes.
  package func nextData(
    _ descriptor: Descriptor, from offset: Int
  ) throws(SystemCallError) -> Int? {
    let byteCount = try status(of: descriptor).byteCount
    return offset < byteCount ? offset : nil
  }

  package func write(
    _ buffer: ByteBuffer, _ range: Range<Int>, to descriptor: Descriptor, at offset: Int
  ) throws(SystemCallError) -> Int {
    let bytes = buffer.bytes(range)
    return try with { files throws(SystemCallError) in
      let node = try files.writableNode(descriptor, "pwrite", orElse: EBADF)
      files.nodes[node]?.write(bytes, at: offset)
      return bytes.count
    }
  }

  package func truncate(_ descriptor: Descriptor, to byteCount: Int) throws(SystemCallError) {
    try with { files throws(SystemCallError) in
      let node = try files.writableNode(descriptor, "ftruncate", orElse: EINVAL)
      files.nodes[node]?.resize(to: byteCount)
    }
  }

  package func synchronizeData(_ descriptor: Descriptor) throws(SystemCallError) {
    _ = try with { files throws(SystemCallError) in try files.node(descriptor, "fdatasync") }
  }

  package func synchronize(_ descriptor: Descriptor) throws(SystemCallError) {
    _ = try with { files throws(SystemCallError) in try files.node(descriptor, "fsync") }
  }

  package func rename(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    try with { files throws(SystemCallError) in
      let parent = try files.directory(directory, "renameat")
      let node = try files.node(name, in: parent, "renameat")
      // Nothing happens when both are names of the same file.
      if try files.entries(of: parent)[other] == node { return }
      try files.setEntry(other, in: parent, to: node)
      try files.setEntry(name, in: parent, to: nil)
    }
  }

  package func link(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    try with { files throws(SystemCallError) in
      let parent = try files.directory(directory, "linkat")
      let node = try files.node(name, in: parent, "linkat")
      guard try files.entries(of: parent)[other] == nil else {
        throw SystemCallError("linkat", EEXIST)
      }
      try files.setEntry(other, in: parent, to: node)
    }
  }

  package func remove(_ name: String, in directory: Descriptor) throws(SystemCallError) {
    try with { files throws(SystemCallError) in
      let parent = try files.directory(directory, "unlinkat")
      let node = try files.node(name, in: parent, "unlinkat")
      guard files.nodes[node]?.entries == nil else { throw SystemCallError("unlinkat", EISDIR) }
      try files.setEntry(name, in: parent, to: nil)
    }
  }

  package func isCacheAuthoritative(_ descriptor: Descriptor) throws(SystemCallError) -> Bool {
    true
  }

  package func tryLock(
    _ descriptor: Descriptor, byte: Int, isShared: Bool
  ) throws(SystemCallError) -> Bool {
    try with { files throws(SystemCallError) in
      let node =
        isShared
        ? try files.node(descriptor, "fcntl")
        : try files.writableNode(descriptor, "fcntl", orElse: EBADF)
      let place = MemoryFiles.LockPlace(node: node, byte: byte)
      if let holder = files.locks[place] { return holder == descriptor }
      files.locks[place] = descriptor
      return true
    }
  }

  package func isLocked(
    _ descriptor: Descriptor, byte: Int, isShared: Bool
  ) throws(SystemCallError) -> Bool {
    try with { files throws(SystemCallError) in
      let node = try files.node(descriptor, "fcntl")
      let holder = files.locks[MemoryFiles.LockPlace(node: node, byte: byte)]
      return holder != nil && holder != descriptor
    }
  }

  package func unlock(_ descriptor: Descriptor, byte: Int) {
    state.withLock { files in
      guard let node = files.open[descriptor]?.node else { return }
      let place = MemoryFiles.LockPlace(node: node, byte: byte)
      if files.locks[place] == descriptor { files.locks[place] = nil }
    }
  }
}
