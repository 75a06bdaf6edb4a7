import SealedStore
import SecretServiceStore
import SessionTools
import SessionToolsBase
import StoreMigration

/// The check of a migration that was begun and not closed, whose journal is in the default place.
enum MigrationCheck {
  /// Returns a note about the migration whose journal is beside a sealed store; `nil` without one.
  ///
  /// - Parameters:
  ///   - store: The store, open.
  ///   - path: Its path.
  ///   - key: The key that opened it, which opens the journal as well.
  /// - Returns: The note.
  static func check(_ store: SealedFileStore, _ path: String, _ key: any KeySource) -> Check? {
    check(key, [try? store.identity(): path]) { () throws(StoreError) in
      JournalLocation.path(beside: path)
    }
  }

  /// Returns a note about the migration between a store in a database and one that is not in a
  /// directory; `nil` without one.
  ///
  /// - Parameters:
  ///   - identity: The identity of the store.
  ///   - address: Its address.
  ///   - key: The key that opened it, which opens the journal as well.
  /// - Returns: The note.
  static func check(
    ofDatabase identity: String, _ address: String, _ key: any KeySource
  ) -> Check? {
    check(key, [identity: address]) { () throws(StoreError) in
      try JournalLocation.path(ofDatabase: identity)
    }
  }

  /// Returns a note about the migration between two collections of the Secret Service; `nil`
  /// without one.
  static func checkServices(timeout: Duration) -> Check? {
    var options = SecretServiceStore.Options()
    options.timeout = timeout
    let key = SecretServiceKey("migration").with(options)
    return check(key, [:]) { () throws(StoreError) in try JournalLocation.pathOfServices }
  }

  /// The paths are those of stores whose identities are known.
  private static func check(
    _ key: any KeySource, _ paths: [String?: String], at path: () throws(StoreError) -> String
  ) -> Check? {
    do throws(StoreError) {
      let path = try path()
      guard try SealedFileStore.exists(at: path) else { return nil }
      let journal = try SealedFileStore.open(
        at: path, key: key, options: SealedFileStore.Options(lockTimeout: .seconds(2)))
      defer { journal.lock() }
      guard let migration = try OpenMigration(inJournal: journal) else { return nil }
      let source = argument(for: migration.source, paths) ?? "SOURCE"
      let target = argument(for: migration.target, paths) ?? "TARGET"
      let names = [migration.source, migration.target].map { $0 ?? "a store of unknown identity" }
      return .note(
        name,
        "not closed: \(migration.progress); from \(names[0]) to \(names[1]); "
          + "its journal is \(path)",
        remedy: "session-tools migrate --from \(source) "
          + "--to \(target) \(mode(of: migration))")
    } catch {
      return .note(
        name,
        "there may be one that was not closed; its journal cannot be read: \(error.store): "
          + error.reason,
        // A migration to a database has the database's key.
        remedy: error.code == .wrongKey
          ? "If it is of a migration to a database, run session-tools migrate with both "
            + "stores, their keys, and --resume, --undo or --close" : error.remedy)
    }
  }

  private static let name = "migration"

  /// Returns the option that ends a migration as it was meant.
  private static func mode(of migration: OpenMigration) -> String {
    switch migration.state {
    case .unfinished: "--resume"
    case .undoing: "--undo"
    case .finished, .undone: "--close"
    }
  }

  /// Returns how `migrate` names a store or source of an identity; `nil` if that is unknown.
  private static func argument(for identity: String?, _ paths: [String?: String]) -> String? {
    guard let identity else { return nil }
    if let path = paths[identity] { return path.shellQuoted }
    if identity.hasPrefix("sealed database ") { return "ADDRESS" }
    for (start, kind) in ItemSource.kindsByIdentity where identity.hasPrefix(start) {
      return "\(kind)\(identity.dropFirst(start.count))".shellQuoted
    }
    // Without settings there is no default store that it might be.
    if case (.sealed(let path), _)?? = try? Settings.defaultStore(),
      let identifier = try? SealedFileStore.identifier(at: path), identity == "sealed \(identifier)"
    {
      return path.shellQuoted
    }
    return nil
  }
}
