import Glibc

/// An open file or directory, closed when it goes.
///
/// The only place of this module that calls the system. Nothing here follows a link in the
/// last part of a name, and descriptors are not inherited by programs that are started.
struct OpenFile: ~Copyable {
  private let descriptor: CInt

  private init(descriptor: CInt) {
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
  }

  /// Opens a directory; a link to one is as good.
  init(directory path: String) throws(SystemCallFailure) {
    descriptor = try Self.checked("open") {
      unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
  }

  /// Makes a directory and those above it that are missing, for this user alone.
  ///
  /// The new names are on the disk when it returns.
  static func makeDirectories(_ path: String) throws(SystemCallFailure) {
    var prefix = ""
    for part in path.split(separator: "/") {
      let parent = prefix.isEmpty ? "/" : prefix
      prefix += "/" + part
      do {
        _ = try checked("mkdir") { unsafe mkdir(prefix, 0o700) }
        try OpenFile(directory: parent).synchronize()
      } catch {
        // Not only EEXIST: whether it may be made is asked before whether it is there.
        guard exists(prefix) else { throw error }
      }
    }
  }

  /// Opens a file of this directory; `nil` when there is none.
  func openForReading(_ name: String) throws(SystemCallFailure) -> OpenFile? {
    do {
      // Not blocking, so that a pipe put in the file's place does not hang its reader.
      return OpenFile(
        descriptor: try Self.checked("openat") {
          unsafe openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        })
    } catch {
      guard error.errno == ENOENT else { throw error }
      return nil
    }
  }

  /// Makes a file in this directory that this user alone may read and write.
  func createExclusively(_ name: String) throws(SystemCallFailure) -> OpenFile {
    let file = OpenFile(
      descriptor: try Self.checked("openat") {
        unsafe openat(
          descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      })
    // The process's mask may have taken rights away.
    _ = try Self.checked("fchmod") { fchmod(file.descriptor, 0o600) }
    return file
  }

  /// Gives a file of this directory a second name; `false` when that is taken.
  func link(_ name: String, as newName: String) throws(SystemCallFailure) -> Bool {
    do {
      _ = try Self.checked("linkat") { unsafe linkat(descriptor, name, descriptor, newName, 0) }
      return true
    } catch {
      guard error.errno == EEXIST else { throw error }
      return false
    }
  }

  /// Takes a name out of this directory.
  func unlink(_ name: String) throws(SystemCallFailure) {
    _ = try Self.checked("unlinkat") { unsafe unlinkat(descriptor, name, 0) }
  }

  /// Reads from the beginning, less than asked for only where the file ends.
  func read(upTo limit: Int) throws(SystemCallFailure) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < limit {
      var buffer = [UInt8](repeating: 0, count: limit - bytes.count)
      let offset = bytes.count
      let count = try Self.checked("pread") {
        unsafe pread(descriptor, &buffer, buffer.count, off_t(offset))
      }
      if count == 0 { break }
      bytes += buffer.prefix(count)
    }
    return bytes
  }

  /// Writes all bytes at the end.
  func write(_ bytes: [UInt8]) throws(SystemCallFailure) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = Array(rest)
      rest = rest.dropFirst(
        try Self.checked("write") { unsafe Glibc.write(descriptor, piece, piece.count) })
    }
  }

  /// Waits until what was written, or which names there are, is on the disk.
  func synchronize() throws(SystemCallFailure) {
    // Not tried again: after a failure the kernel may take the pages for written.
    guard fsync(descriptor) == 0 else { throw SystemCallFailure(call: "fsync", errno: errno) }
  }

  /// What the file is.
  func status() throws(SystemCallFailure) -> FileStatus {
    var status = stat()
    _ = try Self.checked("fstat") { unsafe fstat(descriptor, &status) }
    return FileStatus(status)
  }

  private static func exists(_ path: String) -> Bool {
    unsafe access(path, F_OK) == 0
  }

  /// Calls again when a signal came between, and turns -1 into an error.
  private static func checked<Result: SignedInteger>(
    _ call: String, _ body: () -> Result
  ) throws(SystemCallFailure) -> Result {
    while true {
      let result = body()
      if result != -1 { return result }
      let number = errno
      guard number == EINTR else { throw SystemCallFailure(call: call, errno: number) }
    }
  }
}

extension SystemCallFailure {
  /// The system's words for it.
  var message: String { unsafe String(cString: strerror(errno)) }
}

/// What a file is and whose.
struct FileStatus {
  let isRegularFile: Bool
  let belongsToThisUser: Bool
  /// The lower twelve bits of the mode.
  let permissions: UInt32

  fileprivate init(_ status: stat) {
    isRegularFile = status.st_mode & S_IFMT == S_IFREG
    belongsToThisUser = status.st_uid == geteuid()
    permissions = status.st_mode & 0o7777
  }
}
