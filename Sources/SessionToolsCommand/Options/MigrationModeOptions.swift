import ArgumentParser

/// What to do instead of migrating.
enum MigrationMode: EnumerableFlag {
  case dryRun, resume, undo, close

  static func help(for mode: MigrationMode) -> ArgumentHelp? {
    switch mode {
    case .dryRun: "Show what would be done, and do nothing."
    case .resume: "Continue a migration that was interrupted."
    case .undo: "Restore both stores as they were before a migration."
    case .close: "Forget a migration; it can no longer be undone."
    }
  }
}

/// The options that are given in place of migrating, one at most.
struct MigrationModeOptions: ParsableArguments {
  // Several are parsed, so that the error can say what is wrong with them.
  @Flag(help: "What to do instead of migrating.")
  var modes: [MigrationMode] = []

  /// What to do; `nil` to migrate.
  var mode: MigrationMode? { modes.first }

  /// Checks that one mode was given at most, and nothing that a migration has chosen before.
  ///
  /// - Throws: `ValidationError`.
  func check(_ choices: MigrationChoices) throws {
    guard Set(modes).count <= 1 else {
      throw ValidationError("Give one of --dry-run, --resume, --undo and --close, not several.")
    }
    let isAllowed =
      switch mode {
      case nil, .dryRun: true
      case .resume: choices.isAtMostDeletion
      case .undo, .close: choices.isEmpty
      }
    guard isAllowed else {
      throw ValidationError(
        "A migration is continued, undone or closed with the choices it began with; give none, "
          + "except --delete-source with --resume.")
    }
  }
}
