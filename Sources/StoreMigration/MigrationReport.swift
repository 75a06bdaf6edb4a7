public import SessionToolsBase

/// What a migration did, item by item.
///
/// It names items and shows no values.
public struct MigrationReport: Sendable {
  /// What became of one item.
  public enum Outcome: Sendable {
    /// The target has it, and it was read back and compared.
    case migrated
    /// The same, and the source has it no more.
    case moved
    /// It was left where it is, as the policy for conflicts says.
    case skipped
    /// It was left where it is, because a store needs it there.
    case left
    /// It was not migrated, or not removed from the source, for this reason.
    indirect case failed(StoreError)

    /// Its name, such as `migrated`.
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

  /// One item and what became of it.
  public struct Entry: Sendable {
    /// Its name in the source.
    public let source: StoreKey
    /// Its name in the target.
    public let target: StoreKey
    /// What became of it.
    public let outcome: Outcome
  }

  /// The selected items.
  public internal(set) var entries: [Entry] = []
  /// One digest of the names and values that were read from the source, with a key of this
  /// migration's own: 32 hexadecimal digits.
  public internal(set) var sourceDigest = ""
  /// The same of what was read back from the target.
  public internal(set) var targetDigest = ""
  /// Why the source may have more items than it could list; `nil` when it has not.
  public internal(set) var damage: StoreError?
  /// What protected the items before.
  public let before: StoreTraits
  /// What protects them now.
  public let after: StoreTraits

  /// How many items the target has.
  public var migratedCount: Int {
    entries.count {
      switch $0.outcome {
      case .migrated, .moved: true
      case .skipped, .left, .failed: false
      }
    }
  }

  /// How many items are not in the target, or not gone from the source, as they should be.
  public var failedCount: Int {
    entries.count { if case .failed = $0.outcome { true } else { false } }
  }

  /// Whether every item that was to be migrated was, and the digests are equal.
  public var isComplete: Bool {
    failedCount == 0 && damage == nil && sourceDigest == targetDigest
  }
}

/// What undoing a migration did.
public struct MigrationUndoReport: Sendable {
  /// How many items of the target are what they were before.
  public internal(set) var restoredCount = 0
  /// How many items came back to the source.
  public internal(set) var returnedCount = 0
  /// The items that somebody changed since: these are as they were found, and why.
  public internal(set) var left: [(key: StoreKey, reason: StoreError)] = []
}
