import CLinux
import FoundationEssentials
import Glibc

/// An open file or directory, which is closed when the value is destroyed.
///
/// Only this file makes these system calls. They are the same as in `C/file-per-item.c`, one for
/// one, so that a difference in time is not caused by the system calls.
struct OpenFile: ~Copyable {
  /// The purpose for which a file is opened.
  enum Access {
    case directory
    /// To write a new file.
    case create
    /// To write a file, which is emptied if it exists.
    case replace
  }

  /// The directory that paths are relative to.
  static let workingDirectory = OpenFile(descriptor: AT_FDCWD)

  private let descriptor: Int32

  private init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit {
    _ = Glibc.close(descriptor)
  }

  // MARK: names in a directory

  /// Creates a directory if it does not exist.
  func makeDirectory(_ name: String) throws(Failure) {
    guard unsafe mkdirat(descriptor, name, 0o700) == 0 || errno == EEXIST else {
      throw Self.failure(name)
    }
  }

  func open(_ name: String, _ access: Access) throws(Failure) -> OpenFile {
    let flags =
      switch access {
      case .directory: O_RDONLY | O_DIRECTORY
      case .create: O_WRONLY | O_CREAT | O_EXCL
      case .replace: O_WRONLY | O_CREAT | O_TRUNC
      }
    let result = unsafe openat(descriptor, name, flags | O_CLOEXEC, 0o600)
    guard result >= 0 else { throw Self.failure(name) }
    return OpenFile(descriptor: result)
  }

  /// Opens a file for reading, or returns `nil` if it does not exist.
  func openIfPresent(_ name: String) throws(Failure) -> OpenFile? {
    let result = unsafe openat(descriptor, name, O_RDONLY | O_CLOEXEC)
    if result >= 0 { return OpenFile(descriptor: result) }
    guard errno == ENOENT else { throw Self.failure(name) }
    return nil
  }

  func rename(_ name: String, to other: String) throws(Failure) {
    guard unsafe renameat(descriptor, name, descriptor, other) == 0 else {
      throw Self.failure("rename")
    }
  }

  func remove(_ name: String) throws(Failure) {
    guard unsafe unlinkat(descriptor, name, 0) == 0 else { throw Self.failure(name) }
  }

  /// Returns the names that do not begin with a dot.
  func visibleNames() throws(Failure) -> [String] {
    // This needs its own descriptor: reading a directory moves the descriptor's offset.
    let own = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard own >= 0, let stream = unsafe fdopendir(own) else { throw Self.failure("items") }
    defer { unsafe _ = closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { text in
          unsafe String(cString: text)
        }
      }
      if name.utf8.first != UInt8(ascii: ".") { names.append(name) }
    }
    return names
  }

  // MARK: content

  /// Reads the beginning of a file with one call.
  func read(atMost byteCount: Int) throws(Failure) -> [UInt8] {
    var result = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
      result = unsafe Glibc.read(descriptor, buffer.baseAddress, byteCount)
      count = max(0, result)
    }
    guard result >= 0 else { throw Self.failure("read") }
    return bytes
  }

  /// Writes bytes with one call.
  func write(_ bytes: some ContiguousBytes) throws(Failure) {
    let isWhole = unsafe bytes.withUnsafeBytes { buffer in
      unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count) == buffer.count
    }
    guard isWhole else { throw Self.failure("write") }
  }

  func synchronize() throws(Failure) {
    guard fsync(descriptor) == 0 else { throw Self.failure("fsync") }
  }

  /// Syncs the whole file system that this file is on.
  func synchronizeFileSystem() throws(Failure) {
    guard syncfs(descriptor) == 0 else { throw Self.failure("syncfs") }
  }

  /// Closes the file and throws an error if that fails.
  consuming func close() throws(Failure) {
    let result = Glibc.close(descriptor)
    discard self
    guard result == 0 else { throw Self.failure("close") }
  }

  private static func failure(_ what: String) -> Failure {
    let code = errno
    let reason = unsafe strerror(code).map { unsafe String(cString: $0) }
    return .failed(what, reason: reason ?? "error \(code)")
  }
}
