import SessionToolsBase

/// A store's directory, held open, and the files in it.
///
/// Every file is checked when it is opened: a regular file of this user with one link that
/// nobody else may read or write. Anything else is refused, because someone else could read
/// it, or have put it there.
final class StoreDirectory: Sendable {
  /// The files of a store.
  enum File {
    static let header = "header"
    static let headerCopy = "header.copy"
    static let headerNext = "header.next"
    static let journal = "journal"
    static let journalNext = "journal.next"
    static let mark = "mark"
    static let lock = "lock"
    /// What a file is written as before it takes another's place.
    static let temporary = "replacement"
  }

  let path: String
  let fileSystem: any FileSystem
  let descriptor: Descriptor

  /// Opens a directory and checks it.
  ///
  /// - Throws: `unavailable` when there is none, `unsafePermissions`, `accessDenied` or `io`.
  init(_ path: String, fileSystem: any FileSystem) throws(StoreError) {
    self.path = path
    self.fileSystem = fileSystem
    do throws(SystemCallError) {
      descriptor = try fileSystem.openDirectory(path)
    } catch {
      throw Self.openingError(error, path: path)
    }
    let status: FileStatus
    do throws(SystemCallError) {
      status = try fileSystem.status(of: descriptor)
    } catch {
      throw StoreError(error, path: path)
    }
    try Self.check(status, kind: .directory, path: path)
  }

  deinit {
    fileSystem.close(descriptor)
  }

  /// Opens a file; `nil` when there is none.
  ///
  /// - Throws: `unsafePermissions`, `accessDenied` or `io`.
  func open(_ name: String, _ access: FileAccess) throws(StoreError) -> OpenFile? {
    while true {
      let file: OpenFile
      do throws(SystemCallError) {
        file = OpenFile(
          try fileSystem.open(name, in: descriptor, access), name: name, directory: self)
      } catch where error.errno == SystemCallError.noSuchFile {
        return nil
      } catch {
        throw StoreError(error, path: pathOfFile(name))
      }
      let status = try file.status()
      // Another process put a new file in its place between the two calls.
      if status.kind == .regular, status.linkCount == 0 { continue }
      try Self.check(status, kind: .regular, path: pathOfFile(name))
      return file
    }
  }

  /// Reads a whole small file; `nil` when there is none.
  ///
  /// - Returns: The content and its length; one byte more than asked for at the most, which
  ///   tells that the file is too long.
  /// - Throws: As ``open(_:_:)``.
  func read(
    _ name: String, largestByteCount: Int
  ) throws(StoreError) -> (content: ByteBuffer, byteCount: Int)? {
    guard let file = try open(name, .read) else { return nil }
    let size = min(try file.status().byteCount, largestByteCount) + 1
    let buffer = ByteBuffer(byteCount: size)
    return (buffer, try file.read(at: 0, into: buffer, 0..<size))
  }

  /// What stands under a name; `nil` when nothing does.
  ///
  /// - Throws: `accessDenied` or `io`.
  func status(of name: String) throws(StoreError) -> FileStatus? {
    try attempt(name) { () throws(SystemCallError) in
      try fileSystem.status(of: name, in: descriptor)
    }
  }

  /// Makes a new file and opens it, removing what a crash may have left under the name.
  ///
  /// Only for names that nobody else uses while this process holds the writer's lock.
  ///
  /// - Throws: `accessDenied`, `noSpace` or `io`.
  func create(_ name: String) throws(StoreError) -> OpenFile {
    try remove(name)
    return try attempt(name) { () throws(SystemCallError) in
      OpenFile(try fileSystem.open(name, in: descriptor, .create), name: name, directory: self)
    }
  }

  /// Puts new content in a file's place at once, durable when this returns.
  ///
  /// - Throws: `accessDenied`, `noSpace`, `io`, or `outcomeUnknown` when the directory could
  ///   not be synced.
  func replace(_ name: String, with content: ByteBuffer) throws(StoreError) {
    do throws(StoreError) {
      let file = try create(File.temporary)
      try file.write(content, 0..<content.byteCount, at: 0)
      try file.synchronize()
    } catch {
      discard(File.temporary)
      throw error
    }
    try rename(File.temporary, to: name)
  }

  /// Renames a file over another and makes that durable.
  ///
  /// - Throws: `accessDenied`, `noSpace`, `io`, or `outcomeUnknown` when the directory could
  ///   not be synced.
  func rename(_ name: String, to other: String) throws(StoreError) {
    try attempt(name) { () throws(SystemCallError) in
      try fileSystem.rename(name, to: other, in: descriptor)
    }
    try synchronize()
  }

  /// Makes the directory's names durable.
  ///
  /// - Throws: `outcomeUnknown`.
  func synchronize() throws(StoreError) {
    do throws(SystemCallError) {
      try fileSystem.synchronize(descriptor)
    } catch {
      throw .outcomeUnknown(error, path: path)
    }
  }

  /// Removes a file if there is one.
  ///
  /// - Throws: `accessDenied` or `io`.
  func remove(_ name: String) throws(StoreError) {
    do throws(SystemCallError) {
      try fileSystem.remove(name, in: descriptor)
    } catch where error.errno == SystemCallError.noSuchFile {
      return
    } catch {
      throw StoreError(error, path: pathOfFile(name))
    }
  }

  /// Removes a temporary file after something else failed: that error is the one to tell, and
  /// a file left behind is removed by the next writer.
  func discard(_ name: String) {
    try? remove(name)
  }

  /// The names in the directory.
  ///
  /// - Throws: `accessDenied` or `io`.
  func names() throws(StoreError) -> [String] {
    try attempt(".") { () throws(SystemCallError) in try fileSystem.names(in: descriptor) }
  }

  func pathOfFile(_ name: String) -> String { "\(path)/\(name)" }

  private func attempt<Value>(
    _ name: String, _ body: () throws(SystemCallError) -> Value
  ) throws(StoreError) -> Value {
    do throws(SystemCallError) {
      return try body()
    } catch {
      throw StoreError(error, path: pathOfFile(name))
    }
  }

  private static func openingError(_ error: SystemCallError, path: String) -> StoreError {
    // O_DIRECTORY|O_NOFOLLOW answers ENOTDIR for a symbolic link as well as for a file.
    let failure = StoreError(error, path: path)
    guard failure.code == StoreError.unavailable else { return failure }
    return StoreError(
      StoreError.unavailable, store: path,
      reason: error.errno == SystemCallError.noSuchFile
        ? "there is no store here" : "this is a symbolic link or a file, not a directory",
      remedy: error.errno == SystemCallError.noSuchFile
        ? "Name an existing store, or make one here" : "Name the store's directory itself",
      errno: error.errno)
  }

  private static func check(
    _ status: FileStatus, kind: FileStatus.Kind, path: String
  ) throws(StoreError) {
    let mode = kind == .directory ? "700" : "600"
    let reason: String
    let remedy: String
    if status.kind != kind {
      reason = "it is not a \(kind == .directory ? "directory" : "regular file")"
      remedy = "Put the store's own back, or run " + path.setAsideCommand
    } else if status.owner != CurrentProcess.user {
      reason = "it belongs to another user (id \(status.owner))"
      remedy = "Run as that user, or run chown \(CurrentProcess.user) \(path.shellQuoted)"
    } else if status.permissions & 0o077 != 0 {
      reason = "others may read or write it (mode \(status.permissions.octal))"
      remedy = "Run chmod \(mode) \(path.shellQuoted)"
    } else if kind == .regular, status.linkCount != 1 {
      reason = "it has \(status.linkCount) hard links"
      remedy = "Run " + path.ownCopyCommand
    } else {
      return
    }
    throw StoreError(
      StoreError.unsafePermissions, store: path, reason: reason, remedy: remedy)
  }
}

extension StoreError {
  /// A sync that failed: the kernel may have dropped what was written, or may still write it.
  static func outcomeUnknown(_ error: SystemCallError, path: String) -> StoreError {
    StoreError(
      StoreError.outcomeUnknown, store: path,
      reason: "\(error.call): \(CurrentProcess.message(for: error.errno)), so the change may be "
        + "there after a restart or not",
      remedy: "Open the store again, read what is there, and look at the disk's health",
      errno: error.errno)
  }
}
