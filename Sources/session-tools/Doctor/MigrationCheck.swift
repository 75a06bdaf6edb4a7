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
    check(JournalLocation.path(beside: path), key) { migration throws(StoreError) in
      let isTarget = try migration.target == store.identity()
      return isTarget
        ? "--from SOURCE --to \(path.shellQuoted)" : "--from \(path.shellQuoted) --to TARGET"
    }
  }

  /// Returns a note about the migration between two collections of the Secret Service; `nil`
  /// without one.
  static func checkServices(timeout: Duration) -> Check? {
    var options = SecretServiceStore.Options()
    options.timeout = timeout
    let key = SecretServiceKey("migration").with(options)
    return check(JournalLocation.pathOfServices, key) { _ in "--from SOURCE --to TARGET" }
  }

  private static func check(
    _ path: String, _ key: any KeySource,
    _ stores: (OpenMigration) throws(StoreError) -> String
  ) -> Check? {
    do throws(StoreError) {
      guard try SealedFileStore.exists(at: path) else { return nil }
      let journal = try SealedFileStore.open(
        at: path, key: key, options: SealedFileStore.Options(lockTimeout: .seconds(2)))
      defer { journal.lock() }
      guard let migration = try OpenMigration(inJournal: journal) else { return nil }
      let stores = try stores(migration)
      let names = [migration.source, migration.target].map { $0 ?? "a store of unknown identity" }
      return .note(
        name,
        "not closed: \(migration.progress); from \(names[0]) to \(names[1]); "
          + "its journal is \(path)",
        remedy: "session-tools migrate \(stores) --resume, --undo or --close")
    } catch {
      return .note(
        name,
        "there may be one that was not closed; its journal cannot be read: \(error.store): "
          + error.reason, remedy: error.remedy)
    }
  }

  private static let name = "migration"
}
