/// The system calls that stores make on files, and nothing above them.
///
/// One seam for tests: they record, fail and replay what goes through here. Names are relative
/// to a directory that is held open, so that nobody can swap a parent directory in between.
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

  /// What an open file is.
  func status(of descriptor: Descriptor) throws(SystemCallError) -> FileStatus
  /// What stands under a name, a symbolic link not followed; `nil` when nothing does.
  func status(of name: String, in directory: Descriptor) throws(SystemCallError) -> FileStatus?
  /// The names in a directory, without "." and "..", in no order.
  func names(in directory: Descriptor) throws(SystemCallError) -> [String]

  /// Reads at an offset until the range is full or the file ends; the number of bytes read.
  func read(
    _ descriptor: Descriptor, at offset: Int, into buffer: ByteBuffer, _ range: Range<Int>
  ) throws(SystemCallError) -> Int
  /// Where the first byte at or behind an offset is that is not in a hole; `nil` when the rest of
  /// the file is one.
  ///
  /// Holes read as zeros and take no time to make, so they are no reason to read for hours.
  func nextData(_ descriptor: Descriptor, from offset: Int) throws(SystemCallError) -> Int?
  /// Writes at an offset with one call; the number of bytes written may be smaller.
  func write(
    _ buffer: ByteBuffer, _ range: Range<Int>, to descriptor: Descriptor, at offset: Int
  ) throws(SystemCallError) -> Int
  /// Cuts or extends a file.
  func truncate(_ descriptor: Descriptor, to byteCount: Int) throws(SystemCallError)
  /// Makes a file's content, and what is needed to read it, durable.
  func synchronizeData(_ descriptor: Descriptor) throws(SystemCallError)
  /// Whether what the page cache holds of a file is all there is of it: its file system keeps
  /// nothing on a disk, or cannot be written by anybody.
  func isCacheAuthoritative(_ descriptor: Descriptor) throws(SystemCallError) -> Bool
  /// Makes a file or a directory durable.
  func synchronize(_ descriptor: Descriptor) throws(SystemCallError)

  /// Puts a file in the place of another, or of none, at once.
  func rename(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError)
  /// Gives a file a second name; fails with `EEXIST` when that name is taken.
  func link(_ name: String, to other: String, in directory: Descriptor) throws(SystemCallError)
  /// Removes a name.
  func remove(_ name: String, in directory: Descriptor) throws(SystemCallError)

  /// Takes a lock on one byte of a file if no other open file has it.
  ///
  /// The lock belongs to the open file: the kernel frees it when the last descriptor of it is
  /// closed, however the process dies. A shared one excludes exclusive ones only, and is enough
  /// where the file cannot be written.
  func tryLock(
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

/// How a file is opened.
package enum FileAccess: Hashable, Sendable {
  /// For reading.
  case read
  /// For reading what is on the disk, past the page cache (`O_DIRECT`): offsets, lengths and memory
  /// are whole pages.
  case readDirect
  /// For reading and writing.
  case readWrite
  /// For reading and writing, made with mode 0600 when it is absent.
  case readWriteOrCreate
  /// For reading and writing, made with mode 0600; fails with `EEXIST` when it is there.
  case create
}

/// What the kernel says of a file.
package struct FileStatus: Hashable, Sendable {
  /// What sort of file it is.
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

  /// Whether both are the same file.
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
