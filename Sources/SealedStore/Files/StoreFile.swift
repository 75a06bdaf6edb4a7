import SessionToolsBase

/// The files of a store.
enum StoreFile {
  static let header = "header"
  static let headerCopy = "header.copy"
  static let headerNext = "header.next"
  static let journal = "journal"
  static let journalNext = "journal.next"
  static let mark = "mark"
  static let lock = LockFile.name
  /// The name under which a file is written before it replaces another.
  static let temporary = PrivateDirectory.temporaryName
}

extension PrivateDirectory {
  /// Opens the directory of a store and checks it.
  ///
  /// - Throws: `unavailable` when there is no directory, or libsodium has no randomness,
  ///   `unsafePermissions`, `accessDenied` or `io`.
  static func ofStore(
    at path: String, fileSystem: any FileSystem
  ) throws(StoreError) -> PrivateDirectory {
    guard Sodium.isReady else {
      throw StoreError(
        .unavailable, store: path, reason: "libsodium found no source of randomness")
    }
    return try PrivateDirectory(path, fileSystem: fileSystem)
  }
}
