public import SecretStores

extension KeyFile {
  /// Returns the default key file of a store:
  /// `$XDG_DATA_HOME/session-tools/keys/<store identifier>.key`, by default below
  /// `~/.local/share`.
  ///
  /// It protects a copy of the store, such as a backup or a shared directory, from anyone who does
  /// not also have the user's home directory. It does not protect against someone who has both.
  ///
  /// - Parameter identifier: The store's identifier, from ``SealedFileStore/identifier(at:)``.
  /// - Returns: The key file, which may not exist.
  /// - Throws: `unavailable` if neither the environment nor the user database says where the user's
  ///   home directory is.
  public static func standard(forStore identifier: String) throws(StoreError) -> KeyFile {
    KeyFile("\(try UserDirectory.data.path)/session-tools/keys/\(identifier).key")
  }
}

extension SealedFileStore {
  /// Makes a new, empty store, and a new key file for it at its standard place.
  ///
  /// The key is durable before the store is begun. When this fails and there is no store, the
  /// key file is removed; a process that is killed in between leaves a key file that opens nothing.
  ///
  /// - Returns: The open store and its key file.
  /// - Throws: As ``create(at:key:options:)``.
  public static func createWithStandardKeyFile(
    at path: String, options: Options = Options()
  ) throws(StoreError) -> (store: SealedFileStore, keyFile: KeyFile) {
    try createWithStandardKeyFile(at: path, options: options, environment: StoreEnvironment())
  }

  package static func createWithStandardKeyFile(
    at path: String, options: Options = Options(), environment: StoreEnvironment
  ) throws(StoreError) -> (store: SealedFileStore, keyFile: KeyFile) {
    try checkVacancy(of: path, environment: environment)
    let identifier = StoreIdentifier(bytes: environment.random.bytes16())
    let keyFile = try KeyFile.standard(forStore: identifier.bytes.hexadecimal)
    try environment.fileSystem.makeDirectories(keyFile.path.parentPath)
    _ = try KeyFile.create(at: keyFile.path)
    do throws(StoreError) {
      let store = try create(
        at: path, key: keyFile, options: options, environment: environment,
        identifier: identifier)
      return (store, keyFile)
    } catch {
      // Only a key that certainly opens nothing is removed: the failure may have left a store.
      if isStoreAbsent(identifier, at: path) {
        try? environment.fileSystem.remove(keyFile.path, in: .workingDirectory)
      }
      throw error
    }
  }

  /// Returns whether it is certain that there is no store, or a different one.
  private static func isStoreAbsent(_ store: StoreIdentifier, at path: String) -> Bool {
    do throws(StoreError) {
      return try SealedFileStore.identifier(at: path) != store.bytes.hexadecimal
    } catch {
      return isAbsent(at: path)
    }
  }

  /// Returns whether it is certain that a directory has no store: no header, and no copy of it.
  package static func isAbsent(
    at path: String, fileSystem: any FileSystem = LinuxFileSystem()
  ) -> Bool {
    [StoreFile.header, StoreFile.headerCopy].allSatisfy { name in
      do throws(SystemCallError) {
        return try fileSystem.status(of: "\(path)/\(name)", in: .workingDirectory) == nil
      } catch {
        return false
      }
    }
  }
}
