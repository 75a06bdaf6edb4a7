import SealedStore
public import SessionToolsBase

/// What a migration would do, item by item; making it changes nothing.
public struct MigrationPlan: Sendable {
  /// What becomes of one item.
  public enum Action: Sendable {
    /// The target has none of that name: it is copied.
    case copy
    /// The target has the same already.
    case equal
    /// The target has another value, which the source's takes the place of.
    case overwrite
    /// The target has another value, and both stay as they are.
    case skip
    /// The target has another value, and the item comes beside it, under a name of its own.
    case keepBoth
    /// The target has another value, and the policy is to begin nothing then.
    case conflict
    /// It is the key of a sealed store, or part of a migration's journal: those stay where what
    /// needs them looks for them.
    case leave
    /// It cannot be read, or cannot be what the target takes.
    indirect case impossible(StoreError)

    /// Its name, such as `copy`.
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

  /// One item and what becomes of it.
  public struct Entry: Sendable {
    /// Its name in the source.
    public let source: StoreKey
    /// Its name in the target.
    public let target: StoreKey
    /// What becomes of it.
    public let action: Action
    /// What there is to be seen, of those that the target is to have.
    let seen: Seen?

    init(source: StoreKey, target: StoreKey, action: Action, seen: Seen? = nil) {
      self.source = source
      self.target = target
      self.action = action
      self.seen = seen
    }
  }

  /// The values that an action was chosen for.
  struct Seen {
    /// Of the item as the target is to have it.
    let digest: ItemDigest
    /// Of the value that the target has under the name, if it has one.
    let existing: ItemDigest?
  }

  /// The selected items, in the order of their names in the source.
  public internal(set) var entries: [Entry] = []
  /// Values that were read with the names.
  var values: [StoreKey: SecretBytes] = [:]
  /// Why the source may have more items than it can list; `nil` when it has not.
  public internal(set) var damage: StoreError?
  /// What protects them in the source.
  public let before: StoreTraits
  /// What would protect them in the target.
  public let after: StoreTraits

  /// Whether less is needed to read them in the target than in the source, or that cannot be told.
  public var isWeaker: Bool { after.isWeaker(than: before) }

  /// The items that the policy would begin nothing for.
  public var conflicts: [Entry] {
    entries.filter { if case .conflict = $0.action { true } else { false } }
  }
}

extension StoreTraits {
  /// Whether less is needed to read items here than before, or that cannot be told.
  ///
  /// What was in no file had nothing that protected it there.
  func isWeaker(than before: StoreTraits) -> Bool {
    guard before.isDurable, atRest != .passphrase else { return false }
    guard let atRest, let before = before.atRest else { return true }
    return atRest < before
  }
}
