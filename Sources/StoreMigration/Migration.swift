import Foundation
import SealedStore
public import SessionToolsBase

/// Moves items from one store to another: planned, verified, resumable and reversible.
///
/// ```swift
/// let migration = Migration(from: keyring, to: vault, journal: journal)
/// let plan = try migration.plan()
/// let report = try migration.run()
/// try migration.close()
/// ```
///
/// What is about to be done is durable in the journal before it is done, so a migration that was
/// cut short at any point can be resumed, and undone until it is closed. No item is ever in neither
/// store: from the source they are removed only when asked for, after all of them were read back
/// from the target and compared.
///
/// The journal is a store of its own, empty at first, that protects what is in it at least as well
/// as both others: it has the names of the items, and the values that were overwritten.
///
/// All calls block for as long as the stores do; the `async` ones, which have the same names,
/// run on a thread of their own, and stop in good order when their task is cancelled.
///
/// Changes by others at the same time are not held up. They are noticed up to the moment at which
/// an item is written, reported, and left as they are.
public struct Migration: Sendable {
  /// Makes another value of one on its way, or another name; `nil` leaves the item where it is.
  ///
  /// The name is the one after the mapping. It has to make the same of the same every time,
  /// because a migration that is resumed compares what it makes.
  public typealias Transform =
    @Sendable (
      _ key: StoreKey, _ value: SecretBytes
    ) throws -> (key: StoreKey, value: SecretBytes)?

  /// Where the items are.
  public let source: any SecretStore
  /// Where they shall be.
  public let target: any SecretStore
  /// What is migrated and how.
  ///
  /// What was begun goes on with the options it was begun with.
  public let options: MigrationOptions
  let journal: MigrationJournal
  let transform: Transform?
  /// Asked between two changes: whether to stop there, so that it can be resumed or undone.
  public var isCancelled: @Sendable () -> Bool = { false }

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

  // MARK: What is done

  /// What the migration would do now.
  ///
  /// - Throws: `store` when one of the two cannot be read as a whole.
  public func plan(progress: MigrationProgress? = nil) throws(MigrationError) -> MigrationPlan {
    try storeErrors { () throws(StoreError) in
      var engine = try MigrationEngine(self, newHeader(), progress)
      return try engine.plan()
    }
  }

  /// Migrates.
  ///
  /// - Returns: What was done. The journal stays, so that it can be undone, until `close()`.
  /// - Throws: `conflicts`, `weakerProtection`, `notRemovable` or `notClosed`, and nothing was
  ///   changed; `store`, and what was done is in the journal.
  public func run(progress: MigrationProgress? = nil) throws(MigrationError) -> MigrationReport {
    try exclusively { () throws(MigrationError) in
      guard try header() == nil else { throw .notClosed }
      var engine = try storeErrors { () throws(StoreError) in
        // What one that was being closed left.
        try journal.clear()
        return try MigrationEngine(self, newHeader(), progress)
      }
      guard !options.deletesSource || (!source.traits.isReadOnly && engine.header.canRemove) else {
        throw .notRemovable
      }
      let plan = try storeErrors { () throws(StoreError) in try engine.plan() }
      guard plan.conflicts.isEmpty else { throw .conflicts(plan) }
      try checkProtection(options)
      return try storeErrors { () throws(StoreError) in
        try engine.change(to: .copying)
        try engine.copy(plan)
        return try engine.finish()
      }
    }
  }

  /// Goes on with a migration that was cut short, with the options it was begun with; of one that
  /// is finished it verifies the target once more.
  ///
  /// - Returns: What was done in all.
  /// - Throws: `nothingBegun`, `undone`, `other` or `weakerProtection`, and nothing was changed;
  ///   `store`.
  public func resume(
    progress: MigrationProgress? = nil
  ) throws(MigrationError) -> MigrationReport {
    try exclusively { () throws(MigrationError) in
      let header = try begunHeader()
      switch header.phase {
      case .undoing, .undone: throw .undone
      case .copying, .copied: try checkProtection(header.options)
      case .finished, .closing: break
      }
      return try storeErrors { () throws(StoreError) in
        var engine = try MigrationEngine(self, header, progress)
        return try engine.resume()
      }
    }
  }

  /// Makes both stores what they were before, but for what somebody else changed since.
  ///
  /// What it takes from the target is in the source before. When it is cut short, undoing again
  /// finishes it.
  ///
  /// - Returns: What was done now, and what was left because somebody changed it.
  /// - Throws: `nothingBegun` or `other`, and nothing was changed; `store`.
  public func undo(
    progress: MigrationProgress? = nil
  ) throws(MigrationError) -> MigrationUndoReport {
    try exclusively { () throws(MigrationError) in
      let header = try begunHeader()
      return try storeErrors { () throws(StoreError) in
        var engine = try MigrationEngine(self, header, progress)
        return try engine.undo()
      }
    }
  }

  /// Forgets the migration: what is done stays, and cannot be undone any more.
  ///
  /// Nothing happens when there is none.
  ///
  /// - Throws: `store`.
  public func close() throws(MigrationError) {
    try exclusively { () throws(MigrationError) in
      try storeErrors { () throws(StoreError) in try journal.clear() }
    }
  }

  /// How far a migration is.
  public enum State: String, Sendable {
    /// It was begun and not finished.
    case unfinished
    /// It is finished, and can be undone.
    case finished
    /// Undoing it was begun and not finished.
    case undoing
    /// It was undone.
    case undone
  }

  /// How far the journal's migration is; `nil` when there is none.
  ///
  /// - Throws: `store`.
  public func state() throws(MigrationError) -> State? {
    switch try header()?.phase {
    case .copying, .copied: .unfinished
    case .finished: .finished
    case .undoing: .undoing
    case .undone: .undone
    case .closing, nil: nil
    }
  }
}

// MARK: Checks

extension Migration {
  /// Whether both are ways to the same items: these get other names then.
  ///
  /// - Throws: As reading the stores.
  func isWithinOneStore() throws(StoreError) -> Bool {
    if source as AnyObject === target as AnyObject { return true }
    if let source = source as? SealedFileStore, let target = target as? SealedFileStore {
      // A copy of a store's directory has its identifier.
      return try source.isSameStore(as: target)
    }
    let now = try identities()
    return now.source != nil && now.source == now.target
  }

  /// Which stores they are, as far as these can tell.
  private func identities() throws(StoreError) -> (source: String?, target: String?) {
    (try source.identity(), try target.identity())
  }

  /// The header of a migration that is about to begin.
  private func newHeader() throws(StoreError) -> MigrationJournal.Header {
    let now = try identities()
    let digestKey = ByteBuffer(byteCount: 32, isSecret: true)
    SystemRandomSource().fill(digestKey, 0..<32)
    return MigrationJournal.Header(
      options: options, isTransformed: transform != nil, source: now.source, target: now.target,
      digestKey: Data(digestKey.bytes(0..<32)))
  }

  private func header() throws(MigrationError) -> MigrationJournal.Header? {
    try storeErrors { () throws(StoreError) in
      try journal.header().flatMap { $0.phase == .closing ? nil : $0 }
    }
  }

  /// The header of a migration that is this one.
  private func begunHeader() throws(MigrationError) -> MigrationJournal.Header {
    guard let header = try header() else { throw .nothingBegun }
    let now = try storeErrors { () throws(StoreError) in try identities() }
    // A store that cannot tell may be any; but what is removed has to be known to stay elsewhere.
    let mayBeAny = !header.options.deletesSource
    guard header.source == now.source || mayBeAny && (header.source == nil || now.source == nil)
    else { throw .other(.source) }
    guard header.target == now.target || mayBeAny && (header.target == nil || now.target == nil)
    else { throw .other(.target) }
    guard header.isTransformed == (transform != nil) else { throw .other(.transform) }
    return header
  }

  /// - Throws: `weakerProtection` for items that would be protected less, or would not stay.
  private func checkProtection(_ options: MigrationOptions) throws(MigrationError) {
    let (before, after) = (source.traits, target.traits)
    let vanishes = options.deletesSource && before.isDurable && !after.isDurable
    guard options.allowsWeakerProtection || !(after.isWeaker(than: before) || vanishes) else {
      throw .weakerProtection(before: before, after: after)
    }
  }

  private func storeErrors<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(MigrationError) -> Result {
    do throws(StoreError) {
      return try body()
    } catch {
      throw .store(error)
    }
  }

  /// Whether an item may be moved: it is no key of a store, and in no journal.
  package static func isMovable(_ key: StoreKey) -> Bool { !key.isReserved }

  /// Whether an item belongs to a migration's journal.
  package static func isOfJournal(_ key: StoreKey) -> Bool {
    key.namespace == MigrationJournal.namespace
  }

  /// Runs a closure while no other process is at a journal.
  ///
  /// - Throws: `timedOut`, as the store, or what the closure throws.
  package static func withExclusiveAccess<Result>(
    toJournal store: any SecretStore, _ body: () throws -> Result
  ) throws -> Result {
    try store.withExclusiveAccess(
      to: MigrationJournal.key("header"), timeout: .seconds(1), body)
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
          StoreError.io, store: "migration journal", reason: "it cannot be locked",
          underlying: error))
    }
  }

  /// Tells how far something is, and stops there if that is wanted.
  ///
  /// - Throws: `cancelled`.
  func step(
    _ progress: MigrationProgress?, _ phase: MigrationProgress.Phase, _ done: Int, _ total: Int,
    _ byteCount: Int
  ) throws(StoreError) {
    progress?.report(phase, done, total, byteCount)
    guard !isCancelled() else {
      throw StoreError(
        StoreError.cancelled, store: "migration", reason: "it was cancelled",
        remedy: "Resume or undo it")
    }
  }
}

extension MigrationJournal.Header {
  /// Whether it is known that what is removed from the source stays in the target.
  fileprivate var canRemove: Bool { source != nil && target != nil }
}
