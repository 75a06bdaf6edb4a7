import SealedStore
public import SecretStores

/// What a migration would do; planning changes nothing.
public struct MigrationPlan: Sendable {
  /// The action for one item.
  public enum Action: Sendable {
    /// The target has no item of that name: the item is copied.
    case copy
    /// The target has the same value already.
    case equal
    /// The target has another value, which is replaced by the source's.
    case overwrite
    /// The target has another value, and both stay as they are.
    case skip
    /// The target has another value, and the item is added beside it under a name of its own.
    case keepBoth
    /// The target has another value, and by the policy the migration does not begin.
    case conflict
    /// The item is the key of a sealed store, or part of a migration's journal, and must stay where
    /// it is looked for.
    case leave
    /// The item cannot be read, or the target cannot store it.
    indirect case impossible(StoreError)

    /// The name of the action, such as `copy`.
    public var name: String {
      switch self {
      case .copy: "copy"
      case .equal: "equal"
      case .overwrite: "overwrite"
      case .skip: "skip"
      case .keepBoth: "keep-both"
      case .conflict: "conflict"
      case .leave: "leave"
      case .impossible: "impossible"
      }
    }
  }

  /// One item and the action for it.
  public struct Entry: Sendable {
    /// The item's name in the source.
    public let source: ItemName
    /// The item's name in the target.
    public let target: ItemName
    /// The action for the item.
    public let action: Action
    /// The values that the action was chosen for; `nil` for an item that is not migrated.
    let seen: Seen?

    init(source: ItemName, target: ItemName, action: Action, seen: Seen? = nil) {
      self.source = source
      self.target = target
      self.action = action
      self.seen = seen
    }
  }

  /// The digests of the values that an action was chosen for.
  struct Seen {
    /// The digest of the item as the target is to have it.
    let digest: ItemDigest
    /// The digest of the value that the target has under the name, if any.
    let existing: ItemDigest?
  }

  /// How many items the migration would copy, or find in the target already.
  public private(set) var copiedCount = 0
  /// How many items cannot be read, or cannot be stored in the target.
  public private(set) var impossibleCount = 0
  /// How many items are the reason why the migration does not begin.
  public private(set) var conflictCount = 0
  /// The name in the target of the first of these items.
  public private(set) var firstConflict: ItemName?
  /// How much the source has that its items leave out; nothing of it is migrated.
  public internal(set) var omittedCount = 0
  /// The damage that the source found while it listed its items, of which some may be missing.
  public internal(set) var damage: StoreError?
  /// What protects the items in the source.
  public let before: StoreProtection
  /// What would protect the items in the target.
  public let after: StoreProtection
  /// Whether less is needed to read the items in the target than in the source, or it is unknown;
  /// never for a target that needs a passphrase or more.
  public let isWeaker: Bool

  init(_ protections: Migration.Protections) {
    (before, after) = (protections.before, protections.after)
    isWeaker = protections.isWeaker
  }

  /// Whether every item is read and planned for, and the source has nothing else.
  package var isComplete: Bool { damage == nil && impossibleCount == 0 && omittedCount == 0 }

  mutating func count(_ entry: Entry) {
    switch entry.action {
    case .copy, .equal, .overwrite, .keepBoth: copiedCount += 1
    case .skip, .leave: break
    case .impossible: impossibleCount += 1
    case .conflict:
      conflictCount += 1
      firstConflict = firstConflict ?? entry.target
    }
  }
}

extension MigrationPlan.Entry {
  /// What the migration does with the item.
  var part: MigrationBatch.Part {
    switch action {
    case .leave: return .left
    case .skip, .conflict, .impossible: return .skipped
    case .copy, .equal, .overwrite, .keepBoth:
      guard let seen else { return .skipped }
      let prior: MigrationBatch.Prior =
        switch seen.existing {
        case nil: .absent
        case seen.digest: .own
        case let digest?: .other(digest)
        }
      return .copied(seen.digest, over: prior)
    }
  }
}
