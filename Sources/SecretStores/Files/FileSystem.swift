import Glibc

/// The system calls that stores make on files, and nothing above them.
///
/// The only seam for tests: they record, fail and replay what goes through here. Names are relative
/// to a directory that is held open, so that no one can swap a parent directory in between.
package protocol FileSystem: AnyObject, Sendable {
  /// Opens a directory, refusing a symbolic link in its place.
  func openDirectory(_ path: String) throws(SystemCallError) -> Descriptor
  /// Makes a directory of mode 0700.
  func makeDirectory(_ path: String) throws(SystemCallError)
  /// Opens a file, refusing a symbolic link in its place.
  func open(
    _ name: String, in directory: Descriptor, _ access: FileAccess
  ) throws(SystemCallError) -> Descriptor
  /// Closes a descriptor.
  func close(_ descriptor: Descriptor)

  /// Returns the status of an open file.
  func status(of descriptor: Descriptor) throws(SystemCallError) -> FileStatus
  /// Returns the status of a name's entry, without following a symbolic link; `nil` when there is
  /// none.
  func status(of name: String, in directory: Descriptor) throws(SystemCallError) -> FileStatus?
  /// Returns the names in a directory, without "." and "..", in no order.
  func names(in directory: Descriptor) throws(SystemCallError) -> [String]

  /// Reads at an offset until the range is full or the file ends, and returns the number of bytes
  /// read.
  func read(
    _ descriptor: Descriptor, at offset: Int, into buffer: ByteBuffer, _ range: Range<Int>
  ) throws(SystemCallError) -> Int
  /// Finds the first byte at or behind an offset that is not in a hole; `nil` when the rest of the
  /// file is a hole.
  ///
  /// Holes read as zeros and take no time to make, so hours must not be spent on reading them.
  func nextData(_ descriptor: Descriptor, from offset: Int) throws(SystemCallError) -> Int?
  /// Writes at an offset with one call, and returns the number of bytes written, which may be
  /// smaller.
  func write(
    _ buffer: ByteBuffer, _ range: Range<Int>, to descriptor: Descriptor, at offset: Int
  ) throws(SystemCallError) -> Int
  /// Shortens or extends a file.
  func truncate(_ descriptor: Descriptor, to byteCount: Int) throws(SystemCallError)
  /// Makes a file's content durable, and the metadata needed to read it.
  func synchronizeData(_ descriptor: Descriptor) throws(SystemCallError)
  /// Returns whether the page cache's copy of a file is the only one: its file system stores
  /// nothing on a disk, or cannot be written at all.
  func isCacheAuthoritative(_ descriptor: Descriptor) throws(SystemCallError) -> Bool
  /// Makes a file or a directory durable.
  func synchronize(_ descriptor: Descriptor) throws(SystemCallError)

  /// Renames a file atomically, replacing any file of the other name.
  func rename(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError)
  /// Gives a file a second name; fails with `EEXIST` when that name is taken.
  func link(_ name: String, to other: String, in directory: Descriptor) throws(SystemCallError)
  /// Removes a name.
  func remove(_ name: String, in directory: Descriptor) throws(SystemCallError)

  /// Takes a lock on one byte of a file if no other open file has it.
  ///
  /// The lock belongs to the open file: the kernel frees it when the last descriptor of the file is
  /// closed, however the process dies. A shared lock excludes only exclusive ones, and suffices
  /// where the file cannot be written.
  func tryLock(
    _ descriptor: Descriptor, byte: Int, isShared: Bool
  ) throws(SystemCallError) -> Bool
  /// Returns whether another open file has a lock on one byte of a file that excludes this lock.
  func isLocked(
    _ descriptor: Descriptor, byte: Int, isShared: Bool
  ) throws(SystemCallError) -> Bool
  /// Frees the lock on one byte of a file.
  func unlock(_ descriptor: Descriptor, byte: Int)
}

/// An open file or directory.
package struct Descriptor: Hashable, Sendable {
  /// Stands for the working directory where a directory is asked for (`AT_FDCWD`).
  package static let workingDirectory = Descriptor(rawValue: -100)

  package let rawValue: Int32

  package init(rawValue: Int32) {
    self.rawValue = rawValue
  }
}

/// An open file or directory that is closed at the end of its life.
package struct OwnedDescriptor: ~Copyable, Sendable {
  package let descriptor: Descriptor
  private let fileSystem: any FileSystem

  package init(_ descriptor: Descriptor, of fileSystem: any FileSystem) {
    self.descriptor = descriptor
    self.fileSystem = fileSystem
  }

  deinit {
    fileSystem.close(descriptor)
  }
}

/// How a file is opened.
package enum FileAccess: Hashable, Sendable {
  /// For reading.
  case read
  /// For reading what symbolic links lead to; otherwise, the last part of a path is never a link.
  case readThroughLinks
  /// For reading from the disk, past the page cache (`O_DIRECT`): offsets, lengths and memory are
  /// whole pages.
  case readDirect
  /// For reading and writing.
  case readWrite
  /// For reading and writing; created with mode 0600 when it is absent.
  case readWriteOrCreate
  /// For reading and writing; created with mode 0600, and fails with `EEXIST` when it exists.
  case create
  /// For writing a file without a name, made in the directory of that name (`O_TMPFILE`); not every
  /// file system can make one.
  case unnamed
}

/// The kernel's record of a file.
package struct FileStatus: Hashable, Sendable {
  /// The kind of a file.
  package enum Kind: Hashable, Sendable {
    case regular, directory, symbolicLink, other
  }

  package var kind: Kind
  package var permissions: UInt32
  package var owner: UInt32
  package var group: UInt32
  package var linkCount: Int
  package var byteCount: Int
  package var device: UInt64
  package var inode: UInt64

  package init(
    kind: Kind, permissions: UInt32, owner: UInt32, group: UInt32 = 0, linkCount: Int,
    byteCount: Int, device: UInt64, inode: UInt64
  ) {
    self.kind = kind
    self.permissions = permissions
    self.owner = owner
    self.group = group
    self.linkCount = linkCount
    self.byteCount = byteCount
    self.device = device
    self.inode = inode
  }

  /// Returns whether both are the same file.
  package func isSameFile(as other: FileStatus) -> Bool {
    inode == other.inode && device == other.device
  }
}

/// A system call that failed.
package struct SystemCallError: Error, Hashable, Sendable {
  /// The call, as its manual page names it.
  package let call: String
  package let errno: Int32

  package init(_ call: String, _ errno: Int32) {
    self.call = call
    self.errno = errno
  }
}

extension FileSystem {
  /// Takes an exclusive lock on one byte of a file if no other open file has it.
  package func tryLock(_ descriptor: Descriptor, byte: Int) throws(SystemCallError) -> Bool {
    try tryLock(descriptor, byte: byte, isShared: false)
  }
}

extension SystemCallError {
  /// What was made for its owner alone is open to others: chmod has no effect on the file system.
  package static let modesNotKept = SystemCallError("chmod", EOPNOTSUPP)
  /// What was made belongs to another user, as on NFS with all_squash, or with sshfs.
  package static let ownersNotKept = SystemCallError("chown", EOPNOTSUPP)

  /// What making a file without a name gives on a file system that cannot: `EISDIR` where the
  /// kernel does not know of it.
  package static var noUnnamedFiles: Set<Int32> { [EOPNOTSUPP, EISDIR, ENOSYS, EINVAL] }
  /// `EINVAL`.
  package static var invalidArgument: Int32 { EINVAL }
  /// `EEXIST`.
  package static var fileExists: Int32 { EEXIST }
  /// What `link` gives on a file system without hard links.
  package static var noLinks: Set<Int32> { [EPERM, EOPNOTSUPP, ENOSYS] }
  /// `ENOENT`.
  package static var noSuchFile: Int32 { ENOENT }
  /// `EACCES`.
  package static var accessDenied: Int32 { EACCES }
  /// `EADDRINUSE`.
  package static var addressInUse: Int32 { EADDRINUSE }
}
