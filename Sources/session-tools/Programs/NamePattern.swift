import ArgumentParser
import SessionToolsBase
import StoreMigration

/// A pattern for the identifiers of items that become variables: `*` is any text, `?` any
/// character.
struct NamePattern {
  private var selection = MigrationOptions.Selection()

  /// Reads the argument of `--all`.
  ///
  /// - Throws: `ValidationError` for a pattern of wildcards alone: with it, the names of the
  ///   variables are only up to those who store items.
  init(_ argument: String) throws {
    guard argument.contains(where: { !"*?".contains($0) }) else {
      throw ValidationError(
        "Write a part of the names, such as 'DEPLOY_*': everyone who may store items could set any "
          + "variable of the command.")
    }
    selection.identifierPattern = argument
  }

  /// Returns whether the whole identifier of an item matches.
  func matches(_ name: ItemName) -> Bool { selection.contains(name) }
}
