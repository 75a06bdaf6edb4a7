package import SessionToolsBase

/// A small file with a secret in it, such as a key or a passphrase.
package enum SecretFile {
  /// Reads a whole file into memory that is wiped.
  ///
  /// - Throws: `keyMissing` when there is no such file, `unsafePermissions` when others could read
  ///   or replace it, `invalidKey` when it is larger than a secret can be, or `io`.
  package static func read(
    _ path: String, largestByteCount: Int, rule: AccessRule,
    fileSystem: any FileSystem = LinuxFileSystem()
  ) throws(StoreError) -> SecretBytes {
    let file = try open(path, .read, fileSystem)
    try rule.check(try file.status(), path: path)
    let buffer = ByteBuffer(byteCount: largestByteCount + 1, isSecret: true)
    let byteCount = try file.read(at: 0, into: buffer, 0..<buffer.byteCount)
    guard byteCount <= largestByteCount else {
      throw StoreError(
        .invalidKey, store: path,
        reason: "the file has more than \(largestByteCount) bytes, too many for a key")
    }
    return buffer.secret(0..<byteCount)
  }

  /// Makes a file of mode 0600 with random bytes in it, durable when this returns.
  ///
  /// - Throws: `alreadyExists` when there is a file, `noSpace`, `accessDenied` or `io`.
  package static func create(
    _ path: String, content: SecretBytes, fileSystem: any FileSystem = LinuxFileSystem()
  ) throws(StoreError) {
    let file = try open(path, .create, fileSystem)
    do throws(StoreError) {
      let buffer = ByteBuffer(byteCount: content.byteCount, isSecret: true)
      buffer.copy(content, to: 0)
      try file.write(buffer, 0..<buffer.byteCount, at: 0)
      try file.synchronize()
      try fileSystem.synchronizeDirectory(path.parentPath)
    } catch {
      // The file is not durable, so no one may rely on it. The first error is the one to report.
      try? fileSystem.remove(path, in: .workingDirectory)
      throw error
    }
  }

  private static func open(
    _ path: String, _ access: FileAccess, _ fileSystem: any FileSystem
  ) throws(StoreError) -> OpenFile {
    do throws(SystemCallError) {
      return try OpenFile(
        path, in: .workingDirectory, access, path: path, fileSystem: fileSystem)
    } catch let error where error.errno == SystemCallError.fileExists {
      throw StoreError(
        .alreadyExists, store: path, reason: "there is a file of that name",
        remedy: "Name a file that does not exist")
    } catch let error where error.errno == SystemCallError.noSuchFile {
      throw StoreError(
        .keyMissing, store: path, reason: "there is no such file",
        remedy: "Name the file that holds the key", errno: error.errno)
    } catch {
      throw StoreError(error, path: path)
    }
  }
}
