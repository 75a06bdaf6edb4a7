public import SecretStores

/// The reason why a migration did not begin, or did not continue.
public enum MigrationError: Error {
  /// The target has other values under some of the names, and by the policy the migration does not
  /// begin. Nothing was changed.
  case conflicts(MigrationPlan)
  /// Less would be needed to read the items than now, or it is unknown, or items that are removed
  /// from the source would not be durable. Nothing was changed.
  case weakerProtection(before: StoreProtection, after: StoreProtection)
  /// Items cannot be removed from this source: it is read-only, or cannot be distinguished from the
  /// target. Nothing was changed.
  case notRemovable
  /// The journal has a migration that is not closed: resume, undo or close it.
  case notClosed
  /// The journal has no migration.
  case nothingBegun
  /// The journal's migration is being undone, or was: undo it again, or close it.
  case undone
  /// The journal's migration differs from this one in this respect: what it was begun with, and
  /// what was given now. Nothing was changed.
  case other(Difference, begun: String, given: String)
  /// A store failed, or the migration was cancelled; a migration that the journal has can be
  /// resumed or undone.
  case store(StoreError)

  /// A difference between two migrations.
  public enum Difference: String, Sendable {
    /// The source is another store.
    case source
    /// The target is another store.
    case target
    /// Only one of the two has a transform.
    case transform
    /// Other items are selected.
    case selection
    /// The items get other names in the target.
    case mapping
    /// Another policy for conflicts is given.
    case conflicts
  }
}

extension MigrationError: CustomStringConvertible {
  /// What happened and what to do.
  public var description: String {
    if case .store(let error) = self { return error.description }
    return ([reason] + [remedy].compactMap(\.self)).joined(separator: ". ") + "."
  }

  /// What happened, without a full stop at the end.
  package var reason: String {
    switch self {
    case .conflicts(let plan):
      "the target has other values for \(plan.conflictCount) of the items, such as "
        + (plan.firstConflict.map { "\($0)" } ?? "none")
    case .weakerProtection(let before, let after):
      "the items may be protected less than now. Now: \(before). Then: \(after)"
    case .notRemovable: "nothing can be removed from this source"
    case .notClosed: "a migration was begun and not closed"
    case .nothingBegun: "there is no migration that was begun and not closed"
    case .undone: "the migration was being undone"
    case .other(let difference, let begun, let given):
      "the migration that was begun has another \(difference.name): \(begun), not \(given)"
    case .store(let error): error.reason
    }
  }

  /// What a program can do about it, without a full stop at the end.
  private var remedy: String? {
    switch self {
    case .conflicts: "Choose to skip them, to overwrite them, or to keep both"
    case .weakerProtection: "Allow weaker protection if you intend this"
    case .notRemovable: "Copy its items, and remove them with the program that made them"
    case .notClosed: "Resume, undo or close it"
    case .nothingBegun: nil
    case .undone: "Undo it again, or close it"
    case .other(let difference, _, _):
      "Continue or close it with the \(difference.name) it was begun with"
    case .store(let error): error.remedy
    }
  }
}

extension MigrationError.Difference {
  /// What differs, in words.
  fileprivate var name: String {
    switch self {
    case .source, .target, .transform, .selection: rawValue
    case .mapping: "mapping of names"
    case .conflicts: "policy for conflicts"
    }
  }
}
