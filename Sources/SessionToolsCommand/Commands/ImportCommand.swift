import ArgumentParser
import SessionToolsBase
import StoreMigration

/// `session-tools import`.
struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Copy items out of an archive, or another program's store.",
    discussion: """
      Works like migrate, but cannot be undone: the archive stays as it is, and importing it again \
      copies missing items. Changes nothing when the store has other values under some of the \
      names (exit status 7), unless --on-conflict says what to do. Exit status 9 when some items \
      were not copied, or the source has something that is left out. With --json, writes the same \
      as migrate.

      Example:
        session-tools import ~/vault vault.archive
        session-tools import ~/vault jsonl:items.jsonl
        keepassxc-cli export --format xml passwords.kdbx |
          session-tools import ~/vault keepass-xml:-
      """)

  @OptionGroup var opening: OpeningOptions<StoreArgument>
  @Argument(
    help: ArgumentHelp(
      "The archive, or another source as for migrate: jsonl:FILE, pass:, keepass-xml:- ..."),
    completion: .directory, transform: ItemSource.init)
  var archive: ItemSource
  @OptionGroup(title: "Key of the archive") var archiveKey: KeyOptions<ArchiveSide>
  @OptionGroup(title: "Database of the archive") var archiveDatabase: DatabaseOptions<ArchiveSide>
  @OptionGroup(title: "Items") var choices: ImportChoices
  @OptionGroup var format: JSONOption

  func validate() throws {
    try KeyArgument.checkDescriptors(
      opening.access.secrets + [archiveKey.argument, archiveDatabase.password],
      isInputTaken: archive.takesInput)
  }

  func run() throws {
    let source = try archive.open(
      archiveKey.argument, archiveDatabase.connection, optionStart: ArchiveSide.optionStart,
      opening.interaction, timeout: opening.timeout)
    let target = try opening.openItems().store
    var options = choices.options
    // The archive keeps its own protection, and the user chose this store for the items.
    options.allowsWeakerProtection = true
    let report = try MigrationOutput.copy(from: source, to: target, options)
    try MigrationOutput(format: format).write(report)
  }
}

/// What an import copies items out of.
enum ArchiveSide: StoreSide {
  static let name = "archive"
  static let prefix = "archive"
}
