import Glibc

/// What a directory of another program has under one name.
///
/// Its name is bytes, because other programs may have given it one that is not UTF-8.
package struct DirectoryEntry: Sendable {
  /// What is there, behind any links.
  package enum Kind: Sendable {
    case file
    case directory(FileIdentity)
    /// A pipe, a socket or a device, which must not be opened: that may wait forever.
    case special
    /// It cannot be examined, for this error number: behind a link there may be nothing.
    case unknown(errno: Int32)
  }

  /// Its name in the directory.
  package let name: [UInt8]
  /// What is there.
  package let kind: Kind

  /// The name as text; `nil` if it is not UTF-8.
  package var text: String? { String(validating: name, as: UTF8.self) }
}

/// A file or directory, whatever names lead to it.
package struct FileIdentity: Hashable, Sendable {
  private let device: UInt64
  private let inode: UInt64

  /// Looks for what a path leads to.
  ///
  /// - Throws: `stat` with its error.
  package init(path: String) throws(SystemCallError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw SystemCallError("stat", errno) }
    self.init(status)
  }

  fileprivate init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }
}

/// A directory of another program, which is read through links, as `find -L` does.
///
/// The file system of the stores follows none.
package struct DirectoryContent: Sendable {
  /// The directory itself.
  package let identity: FileIdentity
  /// What is in it, in the order of the names' bytes.
  package let entries: [DirectoryEntry]

  /// Reads a directory.
  ///
  /// - Throws: `opendir` or `readdir` with their error.
  package init(path: String) throws(SystemCallError) {
    guard let stream = unsafe opendir(path) else { throw SystemCallError("opendir", errno) }
    defer { unsafe _ = closedir(stream) }
    let directory = unsafe dirfd(stream)
    var own = stat()
    guard unsafe fstat(directory, &own) == 0 else { throw SystemCallError("fstat", errno) }
    var entries: [DirectoryEntry] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else { break }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: UInt8.self, capacity: 256) { bytes in
          unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(strlen(bytes))))
        }
      }
      guard name != Array(".".utf8), name != Array("..".utf8) else { continue }
      entries.append(DirectoryEntry(name: name, kind: Self.kind(of: name, in: directory)))
    }
    guard errno == 0 else { throw SystemCallError("readdir", errno) }
    identity = FileIdentity(own)
    self.entries = entries.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }

  private static func kind(of name: [UInt8], in directory: Int32) -> DirectoryEntry.Kind {
    var status = stat()
    let path = name.map(CChar.init(bitPattern:)) + [0]
    guard unsafe fstatat(directory, path, &status, 0) == 0 else { return .unknown(errno: errno) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .file
    case S_IFDIR: return .directory(FileIdentity(status))
    default: return .special
    }
  }
}
