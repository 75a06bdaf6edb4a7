import ArgumentParser

/// What to migrate and how, and where its journal is.
struct MigrateOptions: ParsableArguments {
  @OptionGroup(title: "Items") var choices: MigrationChoices

  @OptionGroup var mode: MigrationModeOptions

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The directory of the migration's journal; by default beside the target in a directory, or "
        + "else the source.", valueName: "directory"), completion: .directory,
    transform: { try StoreLocation.directory("sealed:\($0)") })
  var journal: String?

  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var format: JSONOption

  /// Checks that the choices and the mode fit together.
  ///
  /// - Throws: `ValidationError`.
  func check() throws { try mode.check(choices) }

  /// Migrates, or does what was asked for instead.
  ///
  /// - Parameters:
  ///   - source: The store to migrate from, open.
  ///   - target: The store to migrate to, open.
  ///   - timeout: How long to wait for another process that writes to the journal.
  /// - Throws: As `MigrationRun.run`.
  func run(
    from source: MigratedStore, to target: MigratedStore, timeout: Duration
  ) throws {
    try MigrationRun(
      source: source, target: target, options: choices.options,
      place: JournalLocation(path: journal, source: source, target: target, timeout: timeout),
      output: MigrationOutput(format: format)
    ).run(mode.mode)
  }
}
