import SealedStore
import SessionToolsBase

/// Where `init` keeps the keys it makes: away from the stores, so that a copy of a store is
/// not a copy of its key.
struct KeyDirectory {
  /// `$XDG_DATA_HOME/session-tools/keys`.
  let path = "\(UserDirectory.data.path)/session-tools/keys"
  private let fileSystem = LinuxFileSystem()

  private static let temporaryPrefix = "new-"

  /// Where a store's key is, if `init` made it.
  func pathOfKey(ofStore identifier: String) -> String { "\(path)/\(identifier).key" }

  /// Whether a store's key is there.
  func hasKey(ofStore identifier: String) -> Bool {
    Files.exists(pathOfKey(ofStore: identifier))
  }

  /// Makes a key under a temporary name: the store's identifier is known only when the store,
  /// which needs the key, is made.
  ///
  /// - Throws: `accessDenied`, `noSpace` or `io`.
  func makeKey() throws(StoreError) -> KeyFile {
    do throws(SystemCallError) {
      try fileSystem.makeDirectories(path)
    } catch {
      throw StoreError(error, path: path)
    }
    let name = String(UInt64.random(in: 0...UInt64.max), radix: 16)
    return try KeyFile.create(at: "\(path)/\(Self.temporaryPrefix)\(name).key")
  }

  /// Gives a key the name of its store, durable when this returns.
  ///
  /// - Throws: `accessDenied`, `noSpace` or `io`; the key is under its old name then.
  func assign(_ key: KeyFile, toStore identifier: String) throws(StoreError) -> KeyFile {
    let target = pathOfKey(ofStore: identifier)
    do throws(SystemCallError) {
      let directory = try fileSystem.openDirectory(path + "/.")
      defer { fileSystem.close(directory) }
      try fileSystem.rename(
        String(key.path.dropFirst(path.count + 1)), to: "\(identifier).key", in: directory)
      try fileSystem.synchronize(directory)
    } catch {
      throw StoreError(
        StoreError.io, store: key.path,
        reason: "\(error.call): \(CurrentProcess.message(for: error.errno))",
        remedy: "The store was made and this is its key: move it to \(target.shellQuoted)",
        errno: error.errno)
    }
    return KeyFile(target)
  }

  /// Keys that an interrupted `init` left under temporary names.
  var unassignedKeys: [String] {
    Files.names(in: path).filter { $0.hasPrefix(Self.temporaryPrefix) }.sorted()
      .map { "\(path)/\($0)" }
  }
}
