package import SessionToolsBase

/// A small file with a secret in it, such as a key or a passphrase.
package enum SecretFile {
  /// The owner and the permissions that the file must have.
  package enum Rule {
    /// The file belongs to this user, and no other user may read or write it.
    case privateFile
    /// The file belongs to this user or to root, and the world may not read or write it: systemd
    /// makes credentials this way.
    case credential
  }

  /// Reads a whole file into memory that is wiped.
  ///
  /// - Throws: `keyMissing` when there is no such file, `unsafePermissions` when others could read
  ///   or replace it, `invalidKey` when it is larger than a secret can be, or `io`.
  package static func read(
    _ path: String, largestByteCount: Int, rule: Rule,
    fileSystem: any FileSystem = LinuxFileSystem()
  ) throws(StoreError) -> SecretBytes {
    try calling(path) { () throws(SystemCallError) in
      let descriptor = try fileSystem.open(path, in: .workingDirectory, .read)
      defer { fileSystem.close(descriptor) }
      let status = try fileSystem.status(of: descriptor)
      if let defect = defect(of: status, path: path, rule: rule) { return .failure(defect) }

      let buffer = ByteBuffer(byteCount: largestByteCount + 1, isSecret: true)
      let byteCount = try fileSystem.read(descriptor, at: 0, into: buffer, 0..<buffer.byteCount)
      guard byteCount <= largestByteCount else {
        return .failure(
          StoreError(
            StoreError.invalidKey, store: path,
            reason: "the file has more than \(largestByteCount) bytes, too many for a key"))
      }
      return .success(buffer.secret(0..<byteCount))
    }
  }

  /// Makes a file of mode 0600 with random bytes in it, durable when this returns.
  ///
  /// - Throws: `alreadyExists` when there is a file, `noSpace`, `accessDenied` or `io`.
  package static func create(
    _ path: String, content: SecretBytes, fileSystem: any FileSystem = LinuxFileSystem()
  ) throws(StoreError) {
    try calling(path) { () throws(SystemCallError) -> Result<Void, StoreError> in
      let descriptor: Descriptor
      do throws(SystemCallError) {
        descriptor = try fileSystem.open(path, in: .workingDirectory, .create)
      } catch let error where error.errno == SystemCallError.fileExists {
        return .failure(
          StoreError(
            StoreError.alreadyExists, store: path, reason: "there is a file of that name",
            remedy: "Name a file that does not exist"))
      }
      defer { fileSystem.close(descriptor) }
      do throws(SystemCallError) {
        let buffer = ByteBuffer(byteCount: content.byteCount, isSecret: true)
        buffer.copy(content, to: 0)
        try fileSystem.writeAll(buffer, 0..<buffer.byteCount, to: descriptor, at: 0)
        try fileSystem.synchronize(descriptor)
        // The dot follows a symbolic link, which is safe here: the directory is only synced.
        let parent = try fileSystem.openDirectory(path.parentPath + "/.")
        defer { fileSystem.close(parent) }
        try fileSystem.synchronize(parent)
      } catch {
        // The file is not durable, so no one may rely on it. The first error is the one to report.
        try? fileSystem.remove(path, in: .workingDirectory)
        throw error
      }
      return .success(())
    }
  }

  private static func calling<Value>(
    _ path: String, _ body: () throws(SystemCallError) -> Result<Value, StoreError>
  ) throws(StoreError) -> Value {
    let result: Result<Value, StoreError>
    do throws(SystemCallError) {
      result = try body()
    } catch let error where error.errno == SystemCallError.noSuchFile {
      throw StoreError(
        StoreError.keyMissing, store: path, reason: "there is no such file",
        remedy: "Name the file that holds the key", errno: error.errno)
    } catch {
      throw StoreError(error, path: path)
    }
    return try result.get()
  }

  private static func defect(of status: FileStatus, path: String, rule: Rule) -> StoreError? {
    let (open, owners): (UInt32, Set<UInt32>) =
      switch rule {
      case .privateFile: (0o077, [CurrentProcess.user])
      case .credential: (0o007, [CurrentProcess.user, 0])
      }
    let reason: String
    let remedy: String
    if status.kind != .regular {
      reason = "it is not a regular file"
      remedy = "Name the file that holds the key"
    } else if !owners.contains(status.owner) {
      reason = "it belongs to another user"
      remedy = "Run chown \(CurrentProcess.user) \(path.shellQuoted)"
    } else if status.permissions & open != 0 {
      reason = "others may read or write it (mode \(status.permissions.octal))"
      remedy = "Run chmod 600 \(path.shellQuoted)"
    } else {
      return nil
    }
    return StoreError(
      StoreError.unsafePermissions, store: path, reason: reason, remedy: remedy)
  }
}
