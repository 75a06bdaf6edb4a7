import Foundation
import SealedStore
import SessionTools
import SessionToolsBase
import StoreMigration

/// The sealed store that holds a migration's journal.
///
/// It opens with the key of the target, or else of the source. If neither has a key, as between two
/// collections of the Secret Service, the journal's key is stored in the Secret Service.
struct JournalLocation {
  let path: String
  private let key: any KeySource
  private let stores: [any MigratableStore]
  private let timeout: Duration

  /// Whether the path is the default one.
  let isStandard: Bool

  /// The option that names it behind others, if it must be named.
  var words: String { isStandard ? "" : " --journal \(path.shellQuoted)" }

  init(
    path: String?, source: MigratedStore, target: MigratedStore, timeout: Duration
  ) throws {
    self.path = try path ?? Self.path(source, target)
    isStandard = path == nil
    self.timeout = timeout
    stores = [source.store, target.store]
    key = target.key ?? source.key ?? SecretServiceKey("migration", makeIfAbsent: true)
  }

  /// Returns the default path: beside a target in a directory, else beside a source in one, else in
  /// the user's data directory.
  private static func path(
    _ source: MigratedStore, _ target: MigratedStore
  ) throws(StoreError) -> String {
    for case .sealed(let path)? in [target.location, source.location] {
      return Self.path(beside: path)
    }
    for store in [target, source] where store.location?.isInDatabase == true {
      if let identity = try store.store.identity() { return try path(ofDatabase: identity) }
    }
    return try pathOfServices
  }

  /// Returns the default path for a migration to a sealed store, or from one.
  static func path(beside store: String) -> String { "\(store).migration" }

  /// Returns the default path for a migration to a store in a database, or from one, and no
  /// directory: for each a path of its own, since it opens with that store's key.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  static func path(ofDatabase identity: String) throws(StoreError) -> String {
    try "\(pathOfServices)-\(identity.split(separator: " ").last ?? "")"
  }

  /// The default path for a migration between two collections of the Secret Service.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  static var pathOfServices: String {
    get throws(StoreError) { "\(try UserDirectory.data.path)/session-tools/migration" }
  }

  /// Checks that a journal has no migration.
  ///
  /// - Throws: A usage failure that says how far the migration is and how to go on with it.
  func checkClosed(_ journal: SealedFileStore) throws {
    guard let open = try OpenMigration(inJournal: journal) else { return }
    throw Failure(
      .usage,
      "a migration was begun and not closed: \(open.progress); its journal is \(path). "
        + "\(MigrationRemedy.of(open)).")
  }

  /// - Throws: As `SealedFileStore.open`, and a usage failure for a store that is not a journal.
  func open() throws -> SealedFileStore {
    guard try SealedFileStore.exists(at: path) else {
      throw Failure(.unavailable, "\(path): there is no migration journal")
    }
    let journal = try SealedFileStore.open(at: path, key: key, options: options)
    // Never a store with a user's items: the journal would be mixed with them.
    let isOther = try stores.contains { try $0.identity() == journal.identity() }
    guard !isOther, try journal.names(in: nil).allSatisfy(Migration.isOfJournal) else {
      throw Failure(.usage, "\(path): this is a store with items, not a migration journal")
    }
    return journal
  }

  /// - Returns: The journal, and whether it is new.
  /// - Throws: As ``open()`` and `SealedFileStore.create`.
  func openOrMake() throws -> (journal: SealedFileStore, isNew: Bool) {
    removeMoved()
    if try SealedFileStore.exists(at: path) { return (try open(), false) }
    try FileManager.default.createDirectory(
      atPath: path.parentPath, withIntermediateDirectories: true)
    guard let maker = key as? any SlotMaker else {
      throw StoreError(
        .invalidKey, store: path, reason: "the agent keeps no key for a new slot",
        remedy: "Give a key file, a passphrase or another key")
    }
    let journal = try SealedFileStore.create(at: path, key: maker, options: options)
    KnownStores.remember(try journal.fingerprint(), of: journal)
    return (journal, true)
  }

  /// Removes an empty journal; if that fails, the journal stays, and the next migration uses it.
  ///
  /// - Parameter journal: The journal, open.
  func remove(_ journal: SealedFileStore) {
    do {
      // No other process can begin a migration in it meanwhile.
      try Migration.withExclusiveAccess(toJournal: journal) {
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        guard try journal.names(in: nil).isEmpty, Self.fileNames.isSuperset(of: names) else {
          return
        }
        KnownStores().forget(path)
        let directory = try PrivateDirectory(path, fileSystem: LinuxFileSystem())
        try directory.replace(Self.removalMark, with: ByteBuffer([]), by: "removed.new")
        // From here on it is no longer a store, whatever happens.
        let moved = "\(path).\(UUID().uuidString).removed"
        try FileManager.default.moveItem(atPath: path, toPath: moved)
        removeMoved()
      }
    } catch {
      StandardError.complain("\(path): the empty journal could not be removed: \(error)")
    }
  }

  /// Removes what this process and killed ones moved away; what has other files stays.
  private func removeMoved() {
    let directory = path.parentPath
    for name in Files.names(in: directory) where isMoved(name) {
      let moved = "\(directory)/\(name)"
      // Someone else may have put a link there, or another store of this user.
      guard let files = try? PrivateDirectory(moved, fileSystem: LinuxFileSystem()),
        (try? files.status(of: Self.removalMark)) ?? nil != nil
      else { continue }
      for file in Self.fileNames.subtracting([Self.removalMark]) { files.discard(file) }
      files.discard(Self.removalMark)
      // Fails if the directory is not empty.
      unsafe rmdir(moved)
    }
  }

  private func isMoved(_ name: String) -> Bool {
    let journal = path.withoutTrailingSlashes.split(separator: "/").last ?? ""
    guard let identifier = name.split(separator: ".").dropLast().last else { return false }
    return UUID(uuidString: "\(identifier)") != nil && name == "\(journal).\(identifier).removed"
  }

  /// The name of the file that shows that a journal is being removed; only its owner can make it.
  private static let removalMark = "removed"
  private static let fileNames: Set = [
    "header", "header.copy", "journal", "lock", "mark", removalMark,
  ]

  private var options: SealedFileStore.Options {
    // A large journal is compacted when it is closed, which fails once it is removed.
    SealedFileStore.Options(lockTimeout: timeout) { [path] notice in
      if Files.exists(path) { Notices.report(notice) }
    }
  }
}
