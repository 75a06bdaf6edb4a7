import CSessionToolsLinux
import Glibc
import Synchronization

/// The kernel's file system.
///
/// This is the only file that makes these calls. Every call that a signal interrupts is repeated,
/// except closing a file and syncing it.
package final class LinuxFileSystem: FileSystem {
  package init() {}

  package func openDirectory(_ path: String) throws(SystemCallError) -> Descriptor {
    // With a trailing slash the kernel would follow a link anyway.
    let path = path.withoutTrailingSlashes
    let result = try check("open") {
      unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }
    return Descriptor(rawValue: result)
  }

  package func makeDirectory(_ path: String) throws(SystemCallError) {
    let path = path.withoutTrailingSlashes
    try check("mkdir") { unsafe Glibc.mkdir(path, 0o700) }
    guard let made = try status(of: path, in: .workingDirectory), made.kind == .directory
    else { return }
    if let fault = Self.fault(of: made) {
      unsafe _ = Glibc.rmdir(path)
      throw fault
    }
    // The process's mask may have taken rights from the owner too, who then could not even open it.
    guard made.permissions & 0o700 != 0o700 else { return }
    try check("fchmodat") {
      unsafe Glibc.fchmodat(AT_FDCWD, path, 0o700, AT_SYMLINK_NOFOLLOW)
    }
  }

  package func open(
    _ name: String, in directory: Descriptor, _ access: FileAccess
  ) throws(SystemCallError) -> Descriptor {
    if access == .readWriteOrCreate {
      // A file created here gets its mode regardless of the process's mask.
      do throws(SystemCallError) {
        return try open(name, in: directory, .create)
      } catch let error where error.errno == SystemCallError.fileExists {
        // It existed, or does by now.
      }
    }
    let flags =
      switch access {
      case .read, .readThroughLinks: O_RDONLY
      case .readDirect: O_RDONLY | session_tools_direct()
      case .readWrite: O_RDWR
      case .readWriteOrCreate: O_RDWR | O_CREAT
      case .create: O_RDWR | O_CREAT | O_EXCL
      case .unnamed: O_WRONLY | session_tools_unnamed()
      }
    // O_NONBLOCK: a FIFO put in a file's place must not block the process that opens it.
    let always =
      O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (access == .readThroughLinks ? 0 : O_NOFOLLOW)
    let result = try repeatingWhileLeased { () throws(SystemCallError) in
      try check("openat") {
        unsafe Glibc.openat(directory.rawValue, name, flags | always, 0o600)
      }
    }
    if access == .create {
      do throws(SystemCallError) {
        // The process's mask may have taken rights away.
        var refusal: SystemCallError?
        do throws(SystemCallError) {
          try check("fchmod") { Glibc.fchmod(result, 0o600) }
        } catch let error where error.errno == EPERM {
          refusal = error
        }
        let made = try status(of: Descriptor(rawValue: result))
        if let fault = Self.fault(of: made) { throw fault }
        // FAT and CIFS refuse to change what their mount options say, which may be enough.
        if let refusal, made.permissions & 0o600 != 0o600 { throw refusal }
      } catch {
        _ = Glibc.close(result)
        unsafe _ = Glibc.unlinkat(directory.rawValue, name, 0)
        throw error
      }
    }
    return Descriptor(rawValue: result)
  }

  /// Returns what is wrong with a file or directory that was made for this user alone.
  private static func fault(of made: FileStatus) -> SystemCallError? {
    if made.owner != CurrentProcess.user { return .ownersNotKept }
    return made.permissions & 0o077 != 0 ? .modesNotKept : nil
  }

  /// Opens a file again until no process has a lease on it, for 5 s at most.
  ///
  /// A server of NFS or Samba has a lease on what its clients read, and the first attempt asks it
  /// to give that up; with `O_NONBLOCK` the kernel does not wait for it.
  private func repeatingWhileLeased(
    _ open: () throws(SystemCallError) -> Int32
  ) throws(SystemCallError) -> Int32 {
    let end = ContinuousClock.now + .seconds(5)
    while true {
      do throws(SystemCallError) {
        return try open()
      } catch {
        guard error.errno == EAGAIN, ContinuousClock.now < end else { throw error }
        usleep(5000)
      }
    }
  }

  package func close(_ descriptor: Descriptor) {
    // Linux frees the descriptor even when close reports an error, so the error is ignored.
    _ = Glibc.close(descriptor.rawValue)
  }

  package func status(of descriptor: Descriptor) throws(SystemCallError) -> FileStatus {
    var status = statx()
    try check("statx") { unsafe session_tools_status(descriptor.rawValue, "", &status) }
    return FileStatus(status)
  }

  package func status(
    of name: String, in directory: Descriptor
  ) throws(SystemCallError) -> FileStatus? {
    var status = statx()
    do throws(SystemCallError) {
      // Every read makes this call for the journal. Passed directly, the name would be copied to an
      // array.
      try check("statx") {
        unsafe name.withCString { name in
          unsafe session_tools_status(directory.rawValue, name, &status)
        }
      }
    } catch let error where error.errno == ENOENT {
      return nil
    }
    return FileStatus(status)
  }

  package func names(in directory: Descriptor) throws(SystemCallError) -> [String] {
    // A separate descriptor: reading a directory moves the offset of its descriptor.
    let own = try check("openat") {
      unsafe Glibc.openat(directory.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    guard let stream = unsafe fdopendir(own) else {
      let error = SystemCallError("fdopendir", errno)
      _ = Glibc.close(own)
      throw error
    }
    defer { unsafe _ = closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else { break }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { text in
          unsafe String(cString: text)
        }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw SystemCallError("readdir", errno) }
    return names
  }

  package func read(
    _ descriptor: Descriptor, at offset: Int, into buffer: ByteBuffer, _ range: Range<Int>
  ) throws(SystemCallError) -> Int {
    var done = 0
    while done < range.count {
      let rest = range.lowerBound + done..<range.upperBound
      let count = unsafe Glibc.pread(
        descriptor.rawValue, buffer.pointer(to: rest), rest.count, off_t(offset + done))
      if count == 0 { break }
      if count < 0 {
        let code = errno
        if code == EINTR { continue }
        throw SystemCallError("pread", code)
      }
      done += count
    }
    return done
  }

  package func write(
    _ buffer: ByteBuffer, _ range: Range<Int>, to descriptor: Descriptor, at offset: Int
  ) throws(SystemCallError) -> Int {
    while true {
      let count = unsafe Glibc.pwrite(
        descriptor.rawValue, buffer.pointer(to: range), range.count, off_t(offset))
      if count >= 0 { return count }
      let code = errno
      if code != EINTR { throw SystemCallError("pwrite", code) }
    }
  }

  package func nextData(
    _ descriptor: Descriptor, from offset: Int
  ) throws(SystemCallError) -> Int? {
    // SEEK_DATA of <linux/fs.h>, which Glibc's module leaves out.
    let result = Glibc.lseek(descriptor.rawValue, off_t(offset), 3)
    if result >= 0 { return Int(result) }
    guard errno == ENXIO else { throw SystemCallError("lseek", errno) }
    return nil
  }

  package func truncate(
    _ descriptor: Descriptor, to byteCount: Int
  ) throws(SystemCallError) {
    try check("ftruncate") { Glibc.ftruncate(descriptor.rawValue, off_t(byteCount)) }
  }

  package func synchronizeData(_ descriptor: Descriptor) throws(SystemCallError) {
    try checkOnce("fdatasync", Glibc.fdatasync(descriptor.rawValue))
  }

  package func synchronize(_ descriptor: Descriptor) throws(SystemCallError) {
    try checkOnce("fsync", Glibc.fsync(descriptor.rawValue))
  }

  package func rename(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    try check("renameat") {
      unsafe Glibc.renameat(directory.rawValue, name, directory.rawValue, other)
    }
  }

  package func link(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    try check("linkat") {
      unsafe Glibc.linkat(directory.rawValue, name, directory.rawValue, other, 0)
    }
  }

  package func remove(_ name: String, in directory: Descriptor) throws(SystemCallError) {
    try check("unlinkat") { unsafe Glibc.unlinkat(directory.rawValue, name, 0) }
  }

  package func isCacheAuthoritative(_ descriptor: Descriptor) throws(SystemCallError) -> Bool {
    var kind: UInt32 = 0
    try check("fstatfs") { unsafe session_tools_file_system(descriptor.rawValue, &kind) }
    return Self.cacheAuthoritativeKinds.contains(kind)
  }

  /// Of `<linux/magic.h>` and the kernel's sources: tmpfs and ramfs have no disk; squashfs, ISO
  /// 9660, EROFS and cramfs are never written.
  private static let cacheAuthoritativeKinds: Set<UInt32> = [
    0x0102_1994, 0x8584_58f6, 0x7371_7368, 0x9660, 0xe0f5_e1e2, 0x28cd_3d45,
  ]

  package func tryLock(
    _ descriptor: Descriptor, byte: Int, isShared: Bool
  ) throws(SystemCallError) -> Bool {
    do throws(SystemCallError) {
      try check("fcntl") {
        session_tools_set_lock(descriptor.rawValue, isShared ? F_RDLCK : F_WRLCK, off_t(byte))
      }
    } catch let error where error.errno == EAGAIN || error.errno == EACCES {
      return false
    }
    return true
  }

  package func isLocked(
    _ descriptor: Descriptor, byte: Int, isShared: Bool
  ) throws(SystemCallError) -> Bool {
    var kind = isShared ? F_RDLCK : F_WRLCK
    try check("fcntl") {
      unsafe session_tools_get_lock(descriptor.rawValue, &kind, off_t(byte))
    }
    return kind != F_UNLCK
  }

  package func unlock(_ descriptor: Descriptor, byte: Int) {
    // Freeing a byte that this file has locked cannot fail; closing the file would free it too.
    _ = try? check("fcntl") {
      session_tools_set_lock(descriptor.rawValue, F_UNLCK, off_t(byte))
    }
  }

  @discardableResult
  private func check(_ call: String, _ body: () -> Int32) throws(SystemCallError) -> Int32 {
    while true {
      let result = body()
      if result >= 0 { return result }
      let code = errno
      if code != EINTR { throw SystemCallError(call, code) }
    }
  }

  /// Checks a sync, which is never repeated after it failed: the kernel may have marked the pages
  /// clean, and the second call would falsely succeed.
  private func checkOnce(_ call: String, _ result: Int32) throws(SystemCallError) {
    guard result == 0 else { throw SystemCallError(call, errno) }
  }
}

extension FileStatus {
  fileprivate init(_ status: statx) {
    // Of <linux/stat.h>: in Glibc's module they are functions, and every change would call them.
    let kind: Kind =
      switch status.stx_mode & 0o170_000 {
      case 0o100_000: .regular
      case 0o040_000: .directory
      case 0o120_000: .symbolicLink
      default: .other
      }
    self.init(
      kind: kind, permissions: UInt32(status.stx_mode & 0o7777), owner: status.stx_uid,
      group: status.stx_gid,
      linkCount: Int(status.stx_nlink), byteCount: Int(clamping: status.stx_size),
      device: UInt64(status.stx_dev_major) << 32 | UInt64(status.stx_dev_minor),
      inode: status.stx_ino)
  }
}
