/// A directory for this user alone, held open, and the files in it.
///
/// Every file is checked when it is opened: it must be a regular file of this user with one link
/// that no one else may read or write. Anything else is refused, because someone else could read
/// it, or have put it there.
package final class PrivateDirectory: Sendable {
  /// The name under which a file is written before it replaces another.
  package static let temporaryName = "replacement"

  package let path: String
  package let fileSystem: any FileSystem
  private let owned: OwnedDescriptor
  /// The directory, if the remedies for owner and mode apply to all of its content.
  private let whole: String?

  package var descriptor: Descriptor { owned.descriptor }

  /// How often opening a file is tried if it is replaced each time.
  private static let maximumAttemptCount = 1000

  /// Opens a directory and checks it.
  ///
  /// - Parameters:
  ///   - path: The directory; trailing slashes do not make it follow a link.
  ///   - rule: What the directory must be.
  ///   - followsLink: Whether a link in the directory's place is followed, and its target checked.
  ///   - isOneThing: Whether all of its content belongs together, so that one command corrects the
  ///     owner or mode of all files.
  ///   - fileSystem: The file system that makes the calls.
  /// - Throws: `unavailable` when it does not exist, `unsafePermissions`, `accessDenied` or `io`.
  package init(
    _ path: String, _ rule: AccessRule = .privateDirectory, followsLink: Bool = false,
    isOneThing: Bool = false, fileSystem: any FileSystem
  ) throws(StoreError) {
    let path = path.withoutTrailingSlashes
    self.path = path
    whole = isOneThing ? path : nil
    self.fileSystem = fileSystem
    do throws(SystemCallError) {
      let opened = try fileSystem.openDirectory(followsLink ? path + "/." : path)
      owned = OwnedDescriptor(opened, of: fileSystem)
    } catch {
      if followsLink { throw StoreError(error, path: path) }
      throw Self.openingError(error, path: path, fileSystem: fileSystem)
    }
    let status: FileStatus
    do throws(SystemCallError) {
      status = try fileSystem.status(of: owned.descriptor)
    } catch {
      throw StoreError(error, path: path)
    }
    try rule.check(status, path: path, within: whole)
  }

  /// Opens a file; `nil` when it does not exist.
  ///
  /// - Throws: `unsafePermissions`, `accessDenied` or `io`.
  package func open(
    _ name: String, _ access: FileAccess, _ rule: AccessRule = .soleFile,
    after refusal: StoreError? = nil
  ) throws(StoreError) -> OpenFile? {
    for _ in 0..<Self.maximumAttemptCount {
      let file: OpenFile
      do throws(SystemCallError) {
        file = try OpenFile(
          name, in: descriptor, access, path: pathOfFile(name), fileSystem: fileSystem,
          after: refusal)
      } catch let error where error.errno == SystemCallError.noSuchFile {
        return nil
      } catch {
        throw StoreError(error, path: pathOfFile(name))
      }
      let status = try file.status()
      if status.linkCount == 0 {
        try checkIsReplaced(status, name)
        continue
      }
      try rule.check(status, path: pathOfFile(name), within: whole)
      return file
    }
    throw StoreError(
      .io, store: pathOfFile(name), reason: "it is replaced faster than it can be opened",
      remedy: "Look at what writes there (fuser -v \(path.shellQuoted)), and try again")
  }

  /// Checks that another process has replaced a file without links since it was opened, so that
  /// opening it again makes sense.
  ///
  /// Some network file systems, and some in user space, do not count links: every file has 0.
  private func checkIsReplaced(_ status: FileStatus, _ name: String) throws(StoreError) {
    guard try self.status(of: name)?.isSameFile(as: status) == true else { return }
    // In the middle of a rename, the name still leads to the file that already has no link. Renames
    // lock the directory, so reading it waits until none is under way.
    _ = try names()
    guard try self.status(of: name)?.isSameFile(as: status) == true else { return }
    throw StoreError(
      .unsafePermissions, store: pathOfFile(name),
      reason: "its file system counts no hard links, so another name could lead to it",
      remedy: "Keep the store on a file system that counts them, such as ext4 or XFS")
  }

  /// Reads a whole small file; `nil` when it does not exist.
  ///
  /// - Returns: The content and its length; at most one byte more than the largest byte count,
  ///   which shows that the file is too long.
  /// - Throws: As ``open(_:_:)``.
  package func read(
    _ name: String, maximumByteCount: Int, _ rule: AccessRule = .soleFile
  ) throws(StoreError) -> (content: ByteBuffer, byteCount: Int)? {
    guard let file = try open(name, .read, rule) else { return nil }
    let size = min(try file.status().byteCount, maximumByteCount) + 1
    let buffer = ByteBuffer(byteCount: size)
    return (buffer, try file.read(at: 0, into: buffer, 0..<size))
  }

  /// Returns the status of a name's entry; `nil` when it does not exist.
  ///
  /// - Throws: `accessDenied` or `io`.
  package func status(of name: String) throws(StoreError) -> FileStatus? {
    try attempt(name) { () throws(SystemCallError) in
      try fileSystem.status(of: name, in: descriptor)
    }
  }

  /// Creates and opens a new file, removing a file of that name left by a crash.
  ///
  /// Only for names that no one else uses while this process holds the writer's lock.
  ///
  /// - Throws: `accessDenied`, `noSpace` or `io`.
  package func create(_ name: String) throws(StoreError) -> OpenFile {
    try remove(name)
    return try attempt(name) { () throws(SystemCallError) in
      try OpenFile(
        name, in: descriptor, .create, path: pathOfFile(name), fileSystem: fileSystem)
    }
  }

  /// Checks that a new file of this size could be written, as far as the file system can make one
  /// without a name, of which nothing stays.
  ///
  /// - Throws: `accessDenied`, `noSpace` or `io`.
  package func checkRoom(for byteCount: Int) throws(StoreError) {
    let file: OpenFile
    do throws(SystemCallError) {
      file = try OpenFile(".", in: descriptor, .unnamed, path: path, fileSystem: fileSystem)
    } catch let error where SystemCallError.noUnnamedFiles.contains(error.errno) {
      return
    } catch {
      throw StoreError(error, path: path)
    }
    try file.write(ByteBuffer(byteCount: byteCount), 0..<byteCount, at: 0)
  }

  /// Replaces a file's content atomically; the new content is durable when this returns.
  ///
  /// - Parameters:
  ///   - name: The file.
  ///   - content: Its new content.
  ///   - temporary: The name of the content until then, which no one else may use meanwhile; by
  ///     default that of those who hold the writer's lock.
  /// - Throws: `accessDenied`, `noSpace`, `io`, or `outcomeUnknown` when the directory could
  ///   not be synced.
  package func replace(
    _ name: String, with content: ByteBuffer, by temporary: String = temporaryName
  ) throws(StoreError) {
    do throws(StoreError) {
      let file = try create(temporary)
      try file.write(content, 0..<content.byteCount, at: 0)
      try file.synchronize()
    } catch {
      discard(temporary)
      throw error
    }
    try rename(temporary, to: name)
  }

  /// Renames a file over another and makes that durable.
  ///
  /// - Throws: `accessDenied`, `noSpace`, `io`, or `outcomeUnknown` when the directory could
  ///   not be synced.
  package func rename(_ name: String, to other: String) throws(StoreError) {
    try attempt(name) { () throws(SystemCallError) in
      try fileSystem.rename(name, to: other, in: descriptor)
    }
    try synchronize()
  }

  /// Gives a file a second name, and returns whether that name was free.
  ///
  /// - Throws: `accessDenied`, `noSpace` or `io`.
  package func link(_ name: String, to other: String) throws(StoreError) -> Bool {
    do throws(SystemCallError) {
      try fileSystem.link(name, to: other, in: descriptor)
      return true
    } catch let error where error.errno == SystemCallError.fileExists {
      return false
    } catch {
      throw StoreError(error, path: pathOfFile(other))
    }
  }

  /// Makes the directory's names durable.
  ///
  /// - Throws: `outcomeUnknown`.
  package func synchronize() throws(StoreError) {
    do throws(SystemCallError) {
      try fileSystem.synchronize(descriptor)
    } catch {
      throw .ofFailedSync(error, path: path)
    }
  }

  /// Removes a file if there is one.
  ///
  /// - Throws: `accessDenied` or `io`.
  package func remove(_ name: String) throws(StoreError) {
    do throws(SystemCallError) {
      try fileSystem.remove(name, in: descriptor)
    } catch let error where error.errno == SystemCallError.noSuchFile {
      return
    } catch {
      throw StoreError(error, path: pathOfFile(name))
    }
  }

  /// Removes a temporary file after a failure: that error is the one to report, and the next writer
  /// removes a file left behind.
  package func discard(_ name: String) {
    try? remove(name)
  }

  /// Returns the names in the directory.
  ///
  /// - Throws: `accessDenied` or `io`.
  package func names() throws(StoreError) -> [String] {
    try attempt(".") { () throws(SystemCallError) in try fileSystem.names(in: descriptor) }
  }

  package func pathOfFile(_ name: String) -> String { "\(path)/\(name)" }

  private func attempt<Value>(
    _ name: String, _ body: () throws(SystemCallError) -> Value
  ) throws(StoreError) -> Value {
    do throws(SystemCallError) {
      return try body()
    } catch {
      throw StoreError(error, path: pathOfFile(name))
    }
  }

  private static func openingError(
    _ error: SystemCallError, path: String, fileSystem: any FileSystem
  ) -> StoreError {
    if error.errno == SystemCallError.noSuchFile {
      return StoreError(
        .unavailable, store: path, reason: "there is no store here",
        remedy: "Name an existing store, or make one here", errno: error.errno
      ).with(.noStore)
    }
    // Asked for a directory and no link, the kernel returns the same error for a file and for a
    // link.
    let status = try? fileSystem.status(of: path, in: .workingDirectory)
    guard let kind = status?.kind, kind != .directory else {
      return StoreError(error, path: path)
    }
    return StoreError(
      .unsafePermissions, store: path,
      reason: kind == .symbolicLink
        ? "this is a symbolic link" : "this is a file, not the directory of a store",
      remedy: "Name the store's directory itself", errno: error.errno)
  }
}

extension StoreError {
  /// Makes the error of a failed sync: the kernel may have dropped the written data, or may still
  /// write it.
  package static func ofFailedSync(_ error: SystemCallError, path: String) -> StoreError {
    StoreError(
      .outcomeUnknown, store: path,
      reason: "\(error.failure): \(CurrentProcess.message(for: error.errno)), so the change may "
        + "or may not be there after a restart",
      remedy: "Open the store again, check its content, and check the disk's health",
      errno: error.errno)
  }
}
