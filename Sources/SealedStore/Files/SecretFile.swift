package import SecretStores

/// A small file with a secret in it, such as a key or a passphrase.
package enum SecretFile {
  /// Reads a whole file into memory that is wiped.
  ///
  /// - Throws: `keyMissing` when there is no such file, `unsafePermissions` when others could read
  ///   or replace it, `invalidKey` when it is larger than a secret can be, or `io`.
  package static func read(
    _ path: String, maximumByteCount: Int, rule: AccessRule,
    fileSystem: any FileSystem = LinuxFileSystem()
  ) throws(StoreError) -> SecretBytes {
    let file = try open(path, .read, for: path, fileSystem)
    let status = try file.status()
    // Most likely the path of something else, which must not be moved away.
    guard status.kind != .directory else {
      throw StoreError(
        .unsafePermissions, store: path, reason: "it is a directory", remedy: "Name a file")
    }
    try rule.check(status, path: path)
    let buffer = ByteBuffer(byteCount: maximumByteCount + 1, isSecret: true)
    let byteCount = try file.read(at: 0, into: buffer, 0..<buffer.byteCount)
    guard byteCount <= maximumByteCount else {
      throw StoreError(
        .invalidKey, store: path,
        reason: "the file has more than \(maximumByteCount) bytes, too many for a key")
    }
    return buffer.secret(0..<byteCount)
  }

  /// Makes a file of mode 0600, whole as soon as others see it and durable when this returns.
  ///
  /// It is written under another name and linked to its own. From then on it is never removed, even
  /// if this fails: another program may already rely on it. The other name goes once both are
  /// durable, so a kill or a failed sync may leave it.
  ///
  /// - Throws: `alreadyExists` when there is a file, which is then durable; `noSpace`,
  ///   `accessDenied` or `io`.
  package static func create(
    _ path: String, content: SecretBytes, fileSystem: any FileSystem = LinuxFileSystem()
  ) throws(StoreError) {
    // An existing file is found even where none could be made.
    try checkIsAbsent(path, fileSystem)
    let random = String(UInt64.random(in: .min ... .max), radix: 16)
    let temporary = "\(path.parentPath)/.session-tools-\(random)"
    try write(content, to: temporary, for: path, fileSystem)
    do throws(SystemCallError) {
      try fileSystem.link(temporary, to: path, in: .workingDirectory)
    } catch {
      try? fileSystem.remove(temporary, in: .workingDirectory)
      // Another program may have made it meanwhile.
      try checkIsAbsent(path, fileSystem)
      guard SystemCallError.noLinks.contains(error.errno) else { throw error.ofSecret(path) }
      // There, as on vfat, others may see the file before it is whole.
      try write(content, to: path, for: path, fileSystem)
    }
    try fileSystem.synchronizeDirectory(path.parentPath)
    try? fileSystem.remove(temporary, in: .workingDirectory)
  }

  /// Refuses an existing file, after making it durable if its maker may not have done so yet.
  private static func checkIsAbsent(
    _ path: String, _ fileSystem: any FileSystem
  ) throws(StoreError) {
    let status: FileStatus?
    do throws(SystemCallError) {
      status = try fileSystem.status(of: path, in: .workingDirectory)
    } catch {
      throw error.ofSecret(path)
    }
    guard let status else { return }
    if status.linkCount > 1 { try fileSystem.synchronizeDirectory(path.parentPath) }
    throw SystemCallError("open", SystemCallError.fileExists).ofSecret(path)
  }

  private static func write(
    _ content: SecretBytes, to name: String, for path: String, _ fileSystem: any FileSystem
  ) throws(StoreError) {
    let file = try open(name, .create, for: path, fileSystem)
    do throws(StoreError) {
      let buffer = ByteBuffer(byteCount: content.byteCount, isSecret: true)
      buffer.copy(content, to: 0)
      try file.write(buffer, 0..<buffer.byteCount, at: 0)
      try file.synchronize()
    } catch {
      // The first error is the one to report.
      try? fileSystem.remove(name, in: .workingDirectory)
      throw error
    }
  }

  private static func open(
    _ name: String, _ access: FileAccess, for path: String, _ fileSystem: any FileSystem
  ) throws(StoreError) -> OpenFile {
    do throws(SystemCallError) {
      return try OpenFile(
        name, in: .workingDirectory, access, path: path, fileSystem: fileSystem)
    } catch {
      guard access == .create, error.errno == SystemCallError.noSuchFile else {
        throw error.ofSecret(path)
      }
      throw StoreError(
        .unavailable, store: path, reason: "the directory above it does not exist",
        remedy: "Make it first, or choose another place", errno: error.errno)
    }
  }
}

extension SystemCallError {
  /// The store's error for a file with a secret.
  func ofSecret(_ path: String) -> StoreError {
    switch errno {
    case Self.fileExists:
      StoreError(
        .alreadyExists, store: path, reason: "there is a file of that name",
        remedy: "Name a file that does not exist")
    case Self.noSuchFile:
      StoreError(
        .keyMissing, store: path, reason: "there is no such file",
        remedy: "Name the file that holds the key", errno: errno)
    default:
      StoreError(self, path: path)
    }
  }
}
