public import SessionToolsBase

/// The result of a migration, item by item.
///
/// It names items and shows no values.
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
    public let source: StoreKey
    /// The item's name in the target.
    public let target: StoreKey
    /// The outcome for the item.
    public let outcome: Outcome
  }

  /// The selected items.
  public internal(set) var entries: [Entry] = []
  /// How many of the migrated items the target had with the same value before.
  package internal(set) var sameCount = 0
  /// How many of the migrated items replaced another value in the target.
  package internal(set) var replacedCount = 0
  /// One digest of the names and values that were read from the source, with a key of this
  /// migration's own: 32 hexadecimal digits.
  public internal(set) var sourceDigest = ""
  /// The same digest of the names and values that were read back from the target.
  public internal(set) var targetDigest = ""
  /// The reason why the source may have more items than it could list; `nil` if it listed them all.
  public internal(set) var damage: StoreError?
  /// What protects the items in the source.
  public let before: StoreProtection
  /// What protects the items in the target.
  public let after: StoreProtection

  /// How many items were migrated and are in the target.
  public var migratedCount: Int {
    entries.count { $0.outcome.isMigrated }
  }

  /// How many items are not in the target, or not removed from the source, although they should be.
  public var failedCount: Int {
    entries.count { if case .failed = $0.outcome { true } else { false } }
  }

  /// Whether every item that was to be migrated was migrated, and the digests are equal.
  public var isComplete: Bool {
    failedCount == 0 && damage == nil && sourceDigest == targetDigest
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
    /// The items that were left as they were found, each with the reason, such as a change since.
    public internal(set) var left: [(key: StoreKey, reason: StoreError)] = []
  }
}
