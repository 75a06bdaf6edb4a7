public import SecretStores

/// Moves items from one store to another: planned, verified, resumable and reversible.
///
/// ```swift
/// let migration = Migration(from: keyring, to: vault, journal: journal)
/// let plan = try migration.plan()
/// let report = try migration.run()
/// try migration.close()
/// ```
///
/// Each step is durable in the journal before it is taken, so a migration that was interrupted at
/// any point can be resumed, and undone until it is closed. Every item is in at least one of the
/// stores at any time: items are removed from the source only if the options say so, after all of
/// them were read back from the target and compared.
///
/// The journal is a separate store, empty at first. It must protect its content at least as well
/// as both other stores, because it has the names of the items, and the values that were
/// overwritten.
///
/// All calls block for as long as the stores do. The `async` calls of the same names run on a
/// thread of their own, and stop in an orderly way when their task is cancelled.
///
/// Changes by others at the same time are not prevented. They are noticed up to the moment at which
/// an item is written, are reported, and are left as they are.
public struct Migration: Sendable {
  /// A closure that may change an item's value or name; `nil` leaves the item where it is.
  ///
  /// The name is the one after the mapping. The closure must return the same for the same item
  /// every time, because a migration that is resumed compares the results.
  public typealias Transform =
    @Sendable (
      _ name: ItemName, _ value: SecretBytes
    ) throws -> (name: ItemName, value: SecretBytes)?

  /// The store that the items are in.
  public let source: any SecretStore
  /// The store that the items are moved to.
  public let target: any SecretStore
  /// The items that are migrated, and how.
  ///
  /// A migration that was begun continues with the options it was begun with: selection, mapping
  /// and policy must be the same then, or the default. Only `deletesSource` counts when it is
  /// resumed: the items are then removed from the source as well.
  public let options: MigrationOptions
  let journal: MigrationJournal
  let transform: Transform?
  /// Called before every item: returns whether to stop there, so that the migration can be resumed
  /// or undone.
  public var isCancelled: @Sendable () -> Bool = { false }
  /// Returns what a source that lists no items has in their place, such as the items of other
  /// programs; it counts as left out.
  package var foundInstead: @Sendable () throws(StoreError) -> [Omission] = { [] }

  /// Describes a migration; changes nothing.
  public init(
    from source: any SecretStore, to target: any SecretStore, journal: any SecretStore,
    options: MigrationOptions = MigrationOptions(), transform: Transform? = nil
  ) {
    self.source = source
    self.target = target
    self.journal = MigrationJournal(store: journal)
    self.options = options
    self.transform = transform
  }

  // MARK: Operations

  /// Returns the plan of what the migration would do now.
  ///
  /// - Throws: `store` when one of the two stores cannot be read as a whole.
  public func plan(progress: Progress? = nil) throws(MigrationError) -> MigrationPlan {
    try plan(progress: progress) { _ in }
  }

  /// Returns the plan of what the migration would do now, and passes on what it would do with each
  /// item.
  ///
  /// - Parameters:
  ///   - progress: Receives the progress.
  ///   - body: Receives every selected item, in the order in which the source lists them: up to
  ///     1,000 at a time in the order of their names.
  /// - Returns: The plan.
  /// - Throws: `store` when one of the two stores cannot be read as a whole, or with an error of
  ///   the closure.
  public func plan(
    progress: Progress? = nil, _ body: (MigrationPlan.Entry) throws(StoreError) -> Void
  ) throws(MigrationError) -> MigrationPlan {
    try plan(progress: progress, body) { _ in }
  }

  /// Returns the plan, and passes on what it would do with each item, and what the source leaves
  /// out.
  ///
  /// - Throws: As the public method, also with an error of the second closure.
  package func plan(
    progress: Progress? = nil, _ body: (MigrationPlan.Entry) throws(StoreError) -> Void,
    omitted: (Omission) throws(StoreError) -> Void
  ) throws(MigrationError) -> MigrationPlan {
    try storeErrors { () throws(StoreError) in
      try MigrationEngine(self, newHeader(), progress).plan(body, omitted)
    }
  }

  /// Migrates.
  ///
  /// - Returns: The result. The journal is kept until `close()`, for undoing the migration.
  /// - Throws: `conflicts`, `weakerProtection`, `notRemovable` or `notClosed`, and nothing was
  ///   changed; `store`, and the journal has what was done.
  public func run(progress: Progress? = nil) throws(MigrationError) -> MigrationReport {
    try exclusively { () throws(MigrationError) in
      guard try header() == nil else { throw .notClosed }
      var engine = try storeErrors { () throws(StoreError) in
        // Remains of a migration that was being closed, or that did not begin.
        try journal.clear()
        return try MigrationEngine(self, newHeader(), progress)
      }
      try checkRemoval(options, engine.header)
      do throws(MigrationError) {
        let (plan, last) = try storeErrors { () throws(StoreError) in try engine.writePlan() }
        try check(plan, engine.header)
        try storeErrors { () throws(StoreError) in try engine.begin(last) }
      } catch {
        // If this fails, the next migration removes the plan.
        if case nil = try? header() { try? journal.clear() }
        throw error
      }
      return try storeErrors { () throws(StoreError) in try engine.finish() }
    }
  }

  /// Checks whether `run(progress:)` would begin with a plan.
  ///
  /// - Throws: `conflicts`, `weakerProtection` or `notRemovable`, as `run(progress:)`; `store`.
  package func check(_ plan: MigrationPlan) throws(MigrationError) {
    try check(plan, storeErrors { () throws(StoreError) in try newHeader() })
  }

  /// Continues a migration that was interrupted, with the options it was begun with; if it is
  /// finished, verifies the target once more.
  ///
  /// If ``options`` say to delete the source, the items are also removed from the source, even if
  /// the migration was begun to copy them, and is finished. An item that others have put back since
  /// is then removed again if it has the same value. Otherwise it is left and reported as failed.
  ///
  /// - Returns: The result of the whole migration.
  /// - Throws: `nothingBegun`, `undone`, `other`, `weakerProtection` or `notRemovable`, and nothing
  ///   was changed; `store`.
  public func resume(
    progress: Progress? = nil
  ) throws(MigrationError) -> MigrationReport {
    try exclusively { () throws(MigrationError) in
      var header = try begunHeader()
      let goesOnToDelete =
        options.deletesSource && (!header.options.deletesSource || header.phase == .finished)
      header.options.deletesSource = header.options.deletesSource || goesOnToDelete
      switch header.phase {
      case .undoing, .undoneInPart, .undone: throw .undone
      case .copying, .copied: try checkProtection(header.options)
      case .finished where goesOnToDelete:
        try checkProtection(header.options)
        header.phase = .copied
      case .finished, .closing: break
      }
      if goesOnToDelete { try checkRemoval(options, header) }
      return try storeErrors { () throws(StoreError) in
        var engine = try MigrationEngine(self, header, progress)
        if goesOnToDelete { try engine.change(to: header.phase) }
        return try engine.finish()
      }
    }
  }

  /// Restores both stores to what they were before, except for items that others changed since.
  ///
  /// Items are in the source again before they are removed from the target. If undoing is
  /// interrupted, undoing again finishes it. What was put back is read and compared. An item that
  /// is not as it was before is left and reported, and the migration is not undone until another
  /// call has restored what is left.
  ///
  /// - Returns: What this call restored, and every item that it left, with the reason.
  /// - Throws: `nothingBegun` or `other`, and nothing was changed; `store`.
  public func undo(
    progress: Progress? = nil
  ) throws(MigrationError) -> UndoReport {
    try exclusively { () throws(MigrationError) in
      let header = try begunHeader()
      return try storeErrors { () throws(StoreError) in
        var engine = try MigrationEngine(self, header, progress)
        return try engine.undo()
      }
    }
  }

  /// Forgets the migration: its changes stay, and can no longer be undone.
  ///
  /// Does nothing if there is no migration. A journal that is damaged, or that another version
  /// wrote, is cleared too.
  ///
  /// - Throws: `other`, and nothing was changed; `store`.
  public func close() throws(MigrationError) {
    try exclusively { () throws(MigrationError) in
      do throws(MigrationError) {
        if let header = try header() { try checkIsSame(header, mayBeAny: true) }
      } catch {
        // It cannot be continued either.
        guard case .store(let error) = error,
          [StoreError.corrupt, StoreError.unsupportedVersion].contains(error.code)
        else { throw error }
      }
      try storeErrors { () throws(StoreError) in try journal.clear() }
    }
  }

  /// The state of a migration.
  public enum State: String, Sendable {
    /// The migration was begun and not finished.
    case unfinished
    /// The migration is finished, and can be undone.
    case finished
    /// Undoing the migration was begun and not finished, or items were left that it did not
    /// restore.
    case undoing
    /// The migration was undone.
    case undone
  }

  /// Returns how far the journal's migration is; `nil` if the journal has no migration.
  ///
  /// - Throws: `store`.
  public func state() throws(MigrationError) -> State? {
    try header()?.phase.state
  }
}

// MARK: Journal

extension Migration {
  func storeErrors<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(MigrationError) -> Result {
    do throws(StoreError) {
      return try body()
    } catch {
      throw .store(error)
    }
  }

  /// Returns whether an item may be moved: it is not the key of a store, and not part of a journal.
  package static func isMovable(_ name: ItemName) -> Bool { !name.isReserved }

  /// Returns whether an item belongs to a migration's journal.
  package static func isOfJournal(_ name: ItemName) -> Bool {
    name.namespace == MigrationJournal.namespace
  }

  /// Runs a closure while no one else uses a journal.
  ///
  /// - Throws: `timedOut`, as the store, or what the closure throws.
  package static func withExclusiveAccess<Result>(
    toJournal store: any SecretStore, _ body: () throws -> Result
  ) throws -> Result {
    try store.withExclusiveAccess(
      to: MigrationJournal.name("header"), timeout: .seconds(1), body)
  }

  private func exclusively<Result>(
    _ body: () throws(MigrationError) -> Result
  ) throws(MigrationError) -> Result {
    do {
      return try Self.withExclusiveAccess(toJournal: journal.store) { try body() }
    } catch let error as MigrationError {
      throw error
    } catch let error as StoreError {
      throw .store(error)
    } catch {
      throw .store(
        StoreError(
          .io, store: "migration journal", reason: "it cannot be locked",
          underlying: error))
    }
  }

  /// Reports the progress, and stops the migration if it was cancelled.
  ///
  /// - Throws: `cancelled`.
  func step(
    _ progress: Progress?, _ phase: Phase, _ done: Int, _ total: Int, _ byteCount: Int
  ) throws(StoreError) {
    progress?(phase, done, total, byteCount)
    try checkCancelled()
  }

  /// Stops the migration if it was cancelled.
  ///
  /// - Throws: `cancelled`.
  func checkCancelled() throws(StoreError) {
    guard !isCancelled() else {
      throw StoreError(
        .cancelled, store: "migration", reason: "it was cancelled",
        remedy: "Resume or undo it")
    }
  }
}

extension Migration {
  /// The phases of a migration, in this order.
  public enum Phase: String, Sendable {
    case planning, copying, verifying, deleting, undoing
  }

  /// A closure that receives the progress of a migration: the phase, how many items of it are done,
  /// how many there are, and how many bytes of values were read for it.
  ///
  /// It is called before every item, on the thread that does the work.
  public typealias Progress =
    @Sendable (_ phase: Phase, _ done: Int, _ total: Int, _ byteCount: Int) -> Void
}
