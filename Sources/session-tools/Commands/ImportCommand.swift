import ArgumentParser
import SessionTools
import SessionToolsBase

/// `session-tools import`.
struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Copy items out of an archive, or out of another program's store.",
    discussion: """
      As migrate does, but it cannot be taken back: the archive stays as it is, and importing it \
      again copies what is missing. Begins nothing when the store has other values under some of \
      the names (exit status 7), unless --on-conflict says what to do. Exit status 9 when some items \
      were not copied. With --json as migrate.

      Example:
        session-tools import ~/vault vault.archive
        session-tools import ~/vault jsonl:items.jsonl
      """)

  @OptionGroup var opening: OpeningOptions
  @Argument(
    help: ArgumentHelp(
      "The archive, or another source as for migrate: jsonl:FILE, pass:, python-keyring: ..."),
    completion: .directory, transform: ItemSource.init)
  var archive: ItemSource
  @OptionGroup(title: "Key of the archive") var fromKey: MigrationKeyOptions<SourceSide>
  @OptionGroup(title: "Items") var choices: ImportChoices
  @OptionGroup var format: JSONOption

  func validate() throws {
    try KeyArgument.checkDescriptors(
      [opening.key.argument, fromKey.argument], isInputTaken: archive.takesInput)
  }

  func run() throws {
    let source = try archive.open(
      fromKey.argument, opening.interaction, timeout: opening.timeout)
    let target = try opening.openItems().store
    var options = choices.options
    // The archive stays as protected as it is, and the store is the one that was chosen for them.
    options.allowsWeakerProtection = true
    let report = try MigrationOutput.copy(from: source.store, to: target, options)
    try MigrationOutput(format: format).tell(report)
  }
}
