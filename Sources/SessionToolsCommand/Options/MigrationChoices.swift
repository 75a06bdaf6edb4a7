public import ArgumentParser
import StoreMigration

/// The items to copy, their names in the target, and the policy for conflicts.
struct ImportChoices: ParsableArguments {
  @OptionGroup var selected: SelectionOptions

  @Option(
    name: .long,
    help: ArgumentHelp("Rename a service in the target.", valueName: "old=new"),
    transform: ImportChoices.rename)
  var renameService: [MigrationOptions.Mapping.Rename] = []
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Make them items of this installation, for example to adopt those of an old one.",
      valueName: "name"))
  var toInstall: String?
  @Flag(name: .long, help: "Make them items of no installation.")
  var dropInstall = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "What to do if the target has another value: fail, skip, overwrite or keep-both.",
      valueName: "policy"))
  var onConflict = MigrationOptions.ConflictPolicy.fail

  /// Reads `old=new`, split at the first equals sign that is not the first character.
  private static func rename(_ argument: String) throws -> MigrationOptions.Mapping.Rename {
    guard let separator = argument.dropFirst().firstIndex(of: "="),
      argument.index(after: separator) < argument.endIndex
    else { throw ValidationError("Write OLD=NEW.") }
    return MigrationOptions.Mapping.Rename(
      service: String(argument[..<separator]),
      newName: String(argument[argument.index(after: separator)...]))
  }

  func validate() throws {
    guard toInstall == nil || !dropInstall else {
      throw ValidationError("Give --to-install or --drop-install, not both.")
    }
  }

  var options: MigrationOptions {
    var options = MigrationOptions()
    options.selection = selected.selection
    options.mapping.renames = renameService
    if dropInstall { options.mapping.install = .drop }
    if let toInstall { options.mapping.install = .assign(toInstall) }
    options.conflicts = onConflict
    return options
  }
}

extension MigrationOptions.ConflictPolicy: ExpressibleByArgument {}

/// The choices of an import, and those about the source and its protection.
struct MigrationChoices: ParsableArguments {
  @OptionGroup var copied: ImportChoices

  @Flag(
    name: .long,
    help: ArgumentHelp(
      "Remove from the source each item whose copy is verified. Only stores in directories and "
        + "databases, and secret-service:, can be emptied; other sources are never changed."))
  var deleteSource = false
  @Flag(name: .long, help: "Allow the items to be less protected than now.")
  var allowWeaker = false

  /// Whether nothing was chosen, as `--undo` and `--close` require.
  var isEmpty: Bool { options == MigrationOptions() }

  /// Whether at most `--delete-source` was chosen, which a migration may go on to.
  var isAtMostDeletion: Bool {
    var options = options
    options.deletesSource = false
    return options == MigrationOptions()
  }

  var options: MigrationOptions {
    var options = copied.options
    options.deletesSource = deleteSource
    options.allowsWeakerProtection = allowWeaker
    return options
  }
}
