public import SessionToolsBase

extension KeyFile {
  /// Where the key of a store is kept when nobody says otherwise:
  /// `$XDG_DATA_HOME/session-tools/keys/<store identifier>.key`, by default below
  /// `~/.local/share`.
  ///
  /// It protects a copy of the store, such as a backup or a shared directory, from whoever has
  /// not the user's home as well. Against somebody who has both it protects nothing.
  ///
  /// - Parameter identifier: As ``SealedFileStore/identifier(at:)`` gives it.
  /// - Returns: The key file, which may not exist.
  public static func standard(forStore identifier: String) -> KeyFile {
    KeyFile("\(standardDirectory)/\(identifier).key")
  }

  /// Where ``standard(forStore:)`` looks.
  public static var standardDirectory: String {
    "\(UserDirectory.data.path)/session-tools/keys"
  }
}

extension SealedFileStore {
  /// Makes a new, empty store, and a new key file for it at its standard place.
  ///
  /// The key is durable before the store is begun. When this fails and there is no store, the
  /// key file is removed; a process killed in between leaves one that opens nothing.
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
    let keyFile = KeyFile.standard(forStore: identifier.bytes.hexadecimal)
    do throws(SystemCallError) {
      try environment.fileSystem.makeDirectories(KeyFile.standardDirectory)
    } catch {
      throw StoreError(error, path: KeyFile.standardDirectory)
    }
    _ = try KeyFile.create(at: keyFile.path)
    do throws(StoreError) {
      let store = try create(
        at: path, key: keyFile, options: options, environment: environment,
        identifier: identifier)
      return (store, keyFile)
    } catch {
      // Only a key that certainly opens nothing: what failed may have left a store all the same.
      if isStoreAbsent(identifier, at: path) {
        try? environment.fileSystem.remove(keyFile.path, in: .workingDirectory)
      }
      throw error
    }
  }

  /// Whether it is certain that there is no store, or another one.
  private static func isStoreAbsent(_ store: StoreIdentifier, at path: String) -> Bool {
    do throws(StoreError) {
      return try SealedFileStore.identifier(at: path) != store.bytes.hexadecimal
    } catch {
      return error.code == StoreError.unavailable
    }
  }
}
