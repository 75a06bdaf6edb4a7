public import SessionToolsBase

/// Why a migration did not begin, or did not go on.
public enum MigrationError: Error {
  /// The target has other values under some of the names, and the policy is to begin nothing
  /// then. Nothing was changed.
  case conflicts(MigrationPlan)
  /// Less would be needed to read the items than now. Nothing was changed.
  case weakerProtection(before: StoreTraits, after: StoreTraits)
  /// Items cannot be removed from this source: it is only read, or cannot be told apart from the
  /// target. Nothing was changed.
  case notRemovable
  /// The journal has a migration that is not closed: resume, undo or close that one.
  case notClosed
  /// The journal has no migration.
  case nothingBegun
  /// The journal's migration is being undone, or was: undo it again, or close it.
  case undone
  /// The journal's migration is another one, in this respect. Nothing was changed.
  case other(Difference)
  /// A store failed, or waiting was given up; what the journal has can be resumed or undone.
  case store(StoreError)

  /// What tells two migrations apart.
  public enum Difference: String, Sendable {
    /// It is one out of another store.
    case source
    /// It is one into another store.
    case target
    /// One of them has a transform, and the other has none.
    case transform
  }
}

extension MigrationError: CustomStringConvertible {
  /// What happened and what to do.
  public var description: String {
    switch self {
    case .conflicts(let plan):
      "the target has other values for \(plan.conflicts.count) of the items, such as "
        + "\(plan.conflicts.first.map { "\($0.target)" } ?? "none"). Choose to skip them, to "
        + "overwrite them or to keep both."
    case .weakerProtection(let before, let after):
      "the items may be protected less than now. Now: \(before.protection). Then: "
        + "\(after.protection). Allow weaker protection if that is meant."
    case .notRemovable:
      "nothing can be removed from this source. Copy its items, and remove them with the program "
        + "that made them."
    case .notClosed:
      "a migration was begun and not closed. Resume, undo or close it."
    case .nothingBegun: "there is no migration that was begun and not closed."
    case .undone: "the migration was being undone. Undo it again, or close it."
    case .other(let difference):
      "the migration that was begun is another one, with another \(difference.rawValue). Go on "
        + "with what it was begun with."
    case .store(let error): error.description
    }
  }
}
