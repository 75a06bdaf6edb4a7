import SessionToolsBase
import StoreMigration

/// What to type about a migration, in place of the advice that the library has for programs.
enum MigrationRemedy {
  private static let ofOpenMigration =
    "Continue it with --resume, take it back with --undo, or forget it with --close"
  private static let ofUndoneMigration =
    "Finish undoing it with --undo, or forget it with --close"

  /// Returns the ways to go on with a migration that was begun.
  static func of(_ migration: OpenMigration) -> String {
    switch migration.state {
    case .undoing, .undone: ofUndoneMigration
    case .finished where !migration.deletesSource:
      "Remove the items from the source with --resume --delete-source, take it back with --undo, "
        + "or forget it with --close"
    case .unfinished, .finished: ofOpenMigration
    }
  }

  /// Returns the text of an error: what happened, and what to type.
  static func text(of error: MigrationError) -> String {
    guard let remedy = remedy(for: error) else { return "\(error)" }
    return "\(error.reason). \(remedy)."
  }

  private static func remedy(for error: MigrationError) -> String? {
    switch error {
    case .conflicts: return "Choose with --on-conflict skip, overwrite or keep-both"
    case .weakerProtection(let before, _):
      // A key in the keyring is enough only for items that need no more now.
      let isEnough = before.atRest.map { $0 <= .keyring } ?? false
      return "Give --allow-weaker if you intend this, or migrate to a store that was made with "
        + "session-tools init --passphrase"
        + (isEnough ? " or --key secret-service:NAME" : "")
    case .notRemovable:
      return "Only stores in directories and databases, and secret-service:, can be emptied. Leave "
        + "out --delete-source, and remove the items with the program that made them"
    case .notClosed: return ofOpenMigration
    case .undone: return ofUndoneMigration
    case .other: return "Give --from and --to as when it was begun"
    case .nothingBegun, .store: return nil
    }
  }
}
