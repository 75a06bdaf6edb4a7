import SecretStores

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
  /// - Parameters:
  ///   - path: The directory.
  ///   - isNew: Whether the store may have to be made first.
  ///   - fileSystem: The file system that makes the calls.
  /// - Returns: The directory, open.
  /// - Throws: `unavailable` when there is no directory, or no store, and others may use the
  ///   directory, or libsodium has no randomness; `unsafePermissions`, `accessDenied` or `io`.
  static func ofStore(
    at path: String, isNew: Bool = false, fileSystem: any FileSystem
  ) throws(StoreError) -> PrivateDirectory {
    guard Sodium.isReady else {
      throw StoreError(
        .unavailable, store: path, reason: "libsodium found no source of randomness")
    }
    do throws(StoreError) {
      return try PrivateDirectory(path, isOneThing: true, fileSystem: fileSystem)
    } catch let error where error.code == .unsafePermissions {
      // A file, or a link.
      guard (try? fileSystem.status(of: path, in: .workingDirectory))?.kind == .directory else {
        throw error
      }
      // Advice on owner and mode is for stores alone: chmod 700 / would lock everyone out.
      let isStore = [StoreFile.header, StoreFile.headerCopy, StoreFile.journal].contains { name in
        // A file that cannot be examined shows no store.
        (try? fileSystem.status(of: "\(path)/\(name)", in: .workingDirectory)) != nil
      }
      if isStore { throw error }
      if isNew {
        guard isUsed(path, fileSystem) else { throw error }
        throw StoreError(
          .unsafePermissions, store: path, reason: error.reason,
          remedy: "Name a directory that does not exist yet")
      }
      throw .noStore(inDirectory: path)
    }
  }

  /// Returns whether there is anything in a directory, or that is unknown.
  private static func isUsed(_ path: String, _ fileSystem: any FileSystem) -> Bool {
    do throws(SystemCallError) {
      let directory = OwnedDescriptor(try fileSystem.openDirectory(path), of: fileSystem)
      return try !fileSystem.names(in: directory.descriptor).isEmpty
    } catch {
      return true
    }
  }
}

extension StoreError {
  /// Makes the error for a directory without a store.
  static func noStore(inDirectory path: String) -> StoreError {
    StoreError(
      .unavailable, store: path, reason: "there is no store in this directory",
      remedy: "Name an existing store, or make one here"
    ).with(.noStore)
  }
}
