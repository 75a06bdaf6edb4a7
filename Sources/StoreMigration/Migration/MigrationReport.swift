import Foundation
import SealedStore
public import SecretStores

/// The result of a migration.
///
/// The outcomes of the items are in the journal, because there may be millions: see
/// ``forEachEntry(_:)``.
public struct MigrationReport: Sendable {
  /// The outcome for one item.
  public enum Outcome: Sendable {
    /// The target has the item, and it was read back and compared.
    case migrated
    /// The target has the item as with `migrated`, and it was removed from the source.
    case moved
    /// The item was left where it is, as the policy for conflicts says.
    case skipped
    /// The item was left where it is, because a store needs it there.
    case left
    /// The item was not migrated, or not removed from the source, for this reason.
    indirect case failed(StoreError)

    /// Whether the target has the item.
    var isMigrated: Bool {
      switch self {
      case .migrated, .moved: true
      case .skipped, .left, .failed: false
      }
    }

    /// The name of the outcome, such as `migrated`.
    public var name: String {
      switch self {
      case .migrated: "migrated"
      case .moved: "moved"
      case .skipped: "skipped"
      case .left: "left"
      case .failed: "failed"
      }
    }
  }

  /// One item and its outcome.
  public struct Entry: Sendable {
    /// The item's name in the source.
    public let source: ItemName
    /// The item's name in the target.
    public let target: ItemName
    /// The outcome for the item.
    public let outcome: Outcome
  }

  /// How many items were migrated and are in the target.
  public private(set) var migratedCount = 0
  /// How many items are not in the target, or not removed from the source, although they should be.
  public private(set) var failedCount = 0
  /// How much the source has that its items leave out; see ``forEachOmission(_:)``.
  public let omittedCount: Int
  /// How many of the migrated items the target had with the same value before.
  package private(set) var sameCount = 0
  /// How many of the migrated items replaced another value in the target.
  package private(set) var replacedCount = 0
  /// One digest of the names and values that were read from the source, with a key of this
  /// migration's own: 32 hexadecimal digits.
  public let sourceDigest: String
  /// The same digest of the names and values that were read back from the target.
  public let targetDigest: String
  /// The damage that the source found while it listed its items, of which some may be missing.
  public let damage: StoreError?
  /// What protects the items in the source.
  public let before: StoreProtection
  /// What protects the items in the target.
  public let after: StoreProtection
  private let journal: MigrationJournal
  private let digestKey: Data
  private let batchCount: Int

  init(
    _ journal: MigrationJournal, _ header: MigrationJournal.Header, source: ItemDigest,
    target: ItemDigest, _ protections: Migration.Protections
  ) throws(StoreError) {
    (sourceDigest, targetDigest) = (source.hexadecimal, target.hexadecimal)
    damage = header.damage?.error
    omittedCount = header.omittedCount ?? 0
    (before, after) = (protections.before, protections.after)
    self.journal = journal
    (digestKey, batchCount) = (header.digestKey, header.batchCount)
    var counts = (migrated: 0, failed: 0, same: 0, replaced: 0)
    try journal.forEachOutcome(batchCount) { entry, outcome throws(StoreError) in
      if case .failed = outcome { counts.failed += 1 }
      guard outcome.isMigrated, case .copied(_, over: let prior) = entry.part else { return }
      counts.migrated += 1
      switch prior {
      case .absent: break
      case .own: counts.same += 1
      case .other: counts.replaced += 1
      }
    }
    (migratedCount, failedCount) = (counts.migrated, counts.failed)
    (sameCount, replacedCount) = (counts.same, counts.replaced)
  }

  /// Whether everything that the source has was migrated, and the digests are equal.
  public var isComplete: Bool {
    failedCount == 0 && damage == nil && omittedCount == 0 && sourceDigest == targetDigest
  }

  /// Whether no item of the source is selected, so that there is nothing to undo.
  package var hasNoItems: Bool { batchCount == 0 }

  /// Calls a closure with every selected item and its outcome.
  ///
  /// The items are in the order in which the source listed them: up to 1,000 at a time in the order
  /// of their names. They are read from the migration's journal, until that is closed; blocks as
  /// the journal does.
  ///
  /// - Throws: `nothingBegun` when the migration was closed, also if the journal has another one by
  ///   now; `store`, also for an error of the closure.
  public func forEachEntry(
    _ body: (Entry) throws(StoreError) -> Void
  ) throws(MigrationError) {
    try journal.reading(digestKey) { () throws(StoreError) in
      try journal.forEachOutcome(batchCount) { entry, outcome throws(StoreError) in
        try body(Entry(source: entry.source, target: entry.target, outcome: outcome))
      }
    }
  }

  /// Calls a closure with everything that the source has and its items leave out, in the order in
  /// which the source listed it.
  ///
  /// It is read from the migration's journal, as ``forEachEntry(_:)`` does.
  ///
  /// - Throws: `nothingBegun` when the migration was closed, also if the journal has another one by
  ///   now; `store`, also for an error of the closure.
  public func forEachOmission(
    _ body: (Omission) throws(StoreError) -> Void
  ) throws(MigrationError) {
    try journal.reading(digestKey) { () throws(StoreError) in
      try journal.forEachOmission(omittedCount, body)
    }
  }
}

extension Migration {
  /// The result of undoing a migration.
  public struct UndoReport: Sendable {
    /// How many items of the target were restored to what they were before.
    public internal(set) var restoredCount = 0
    /// How many of these were removed from the target, which had none of their names before.
    package internal(set) var removedCount = 0
    /// How many items were written back to the source.
    public internal(set) var returnedCount = 0
    /// How many items were not restored, because they were changed since, for example.
    public internal(set) var leftCount = 0
    /// Whether nothing is left to restore.
    public var isComplete: Bool { leftCount == 0 }
    let journal: MigrationJournal
    let digestKey: Data
    let batchCount: Int

    init(_ journal: MigrationJournal, _ header: MigrationJournal.Header) {
      self.journal = journal
      (digestKey, batchCount) = (header.digestKey, header.batchCount)
    }

    /// Calls a closure with the name in the target of every item that was not restored in both
    /// stores, and the reason.
    ///
    /// They are read from the migration's journal, until that is closed; blocks as the journal
    /// does.
    ///
    /// - Throws: `nothingBegun` when the migration was closed, also if the journal has another one
    ///   by now; `store`, also for an error of the closure.
    public func forEachLeftItem(
      _ body: (_ name: ItemName, _ reason: StoreError) throws(StoreError) -> Void
    ) throws(MigrationError) {
      try journal.reading(digestKey) { () throws(StoreError) in
        try journal.forEachOutcome(batchCount) { entry, outcome throws(StoreError) in
          if case .failed(let reason) = outcome { try body(entry.target, reason) }
        }
      }
    }
  }
}
