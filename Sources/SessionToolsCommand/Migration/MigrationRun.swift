import ArgumentParser
import SealedStore
import SessionToolsBase
import StoreMigration

/// A migration between two stores, or what is done instead.
struct MigrationRun {
  let source: MigratedStore
  let target: MigratedStore
  let options: MigrationOptions
  let place: JournalLocation
  let output: MigrationOutput

  /// Migrates, or does what a mode says.
  ///
  /// - Throws: As migrating, and exit status 9 when something is missing.
  func run(_ mode: MigrationMode?) throws {
    switch mode {
    case .dryRun: try plan(migration(MemoryStore()))
    case nil: try begin()
    case .resume:
      try output.write(
        MigrationOutput.interruptibly(migration(place.open())) { try $0.resume(progress: $1) },
        undo: place.words)
    case .undo:
      try output.write(
        undone: MigrationOutput.interruptibly(migration(place.open())) {
          try $0.undo(progress: $1)
        })
    case .close:
      let journal = try place.open()
      let migration = migration(journal)
      // An empty store at a path that was given may be meant for something else.
      let isJournal = try place.isStandard || migration.state() != nil
      try migration.close()
      if isJournal { place.remove(journal) }
      if StandardError.isTerminal { StandardError.say("the migration is closed") }
    }
  }

  private func migration(_ journal: any SecretStore) -> Migration {
    var migration = Migration(
      from: source.store, to: target.store, journal: journal, options: options)
    migration.foundInstead = source.foundInstead
    return migration
  }

  /// Shows the plan, and ends as the migration would.
  private func plan(_ migration: Migration) throws {
    try MigrationOutput.checkNames(migration)
    let plan = try output.writePlan(of: migration)
    if try SealedFileStore.exists(at: place.path) { try place.checkClosed(place.open()) }
    try migration.check(plan)
    guard plan.isComplete else { throw ExitCode(ExitStatus.incomplete.rawValue) }
  }

  private func begin() throws {
    try MigrationOutput.checkNames(migration(MemoryStore()))
    let (journal, isNew) = try place.openOrMake()
    try place.checkClosed(journal)
    let migration = migration(journal)
    do {
      let report = try MigrationOutput.interruptibly(migration) { try $0.run(progress: $1) }
      let isForNothing = report.hasNoItems && !report.isComplete
      do {
        try output.write(report, undo: isForNothing ? nil : place.words)
      } catch {
        // With a wrong source or selection there is nothing to undo, and the next one may begin.
        if isForNothing { try migration.close() }
        throw error
      }
    } catch {
      // The migration did not begin, or for nothing, so there is nothing to resume.
      if isNew, try migration.state() == nil { place.remove(journal) }
      throw error
    }
  }
}

/// A store that items are migrated from or to.
struct MigratedStore {
  let store: any MigratableStore
  /// The location, if it is a store of this library.
  var location: StoreLocation?
  /// The key that opened it, if it is sealed with one.
  var key: (any KeySource)?
  /// Returns what a source without items has in their place.
  var foundInstead: @Sendable () throws(StoreError) -> [Omission]

  init(
    store: any MigratableStore, location: StoreLocation? = nil, key: (any KeySource)? = nil,
    foundInstead: @escaping @Sendable () throws(StoreError) -> [Omission] = { [] }
  ) {
    self.foundInstead = foundInstead
    self.store = store
    self.location = location
    self.key = key
  }
}
