import ArgumentParser
import SealedStore
import SessionToolsBase
import StoreMigration

/// `session-tools migrate`.
struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Move items from one store to another.",
    discussion: """
      Plans first, and changes nothing when the target has other values under some of the names \
      (exit status 7), or would protect the items less than the source (exit status 1). Then \
      copies, reads every item back from the target and compares it. The source stays as it is \
      without --delete-source. Exit status 9 when some items were not migrated. --dry-run shows \
      the plan, and ends with the message and the exit status that migrating would have.

      Every step is first written to a sealed journal, by default beside the target. A migration \
      that was interrupted, by Ctrl-C or by a crash, continues with --resume. --undo restores both \
      stores, until --close forgets the migration; all three take both stores, their keys, and no \
      other choices, except that --resume --delete-source goes on to remove the items from the \
      source after a migration without it. doctor shows a migration that was not closed. Within \
      one store, items get other names: --rename-service, --to-install or --drop-install is needed.

      In pass, an item is a file, of the service pass. In keyring-file: an item is a password of \
      a service; the identifier is its user, always in lower case. In exports of KeePass and \
      Bitwarden an entry is a service, with the name of its groups, or folder, and its title: \
      Mail/Work. Its items are the fields that are not empty: password, username, url, notes, otp, \
      and those with names of their own. An entry or field with the same name as an earlier one \
      gets a number: Mail/Work (2). Export into a pipe, so that no file in plain text is left.

      Writes a line for each item that is not simply copied, with fields separated by tabs, and a \
      summary. With --json: {"after", "before", "isComplete", "items": [{"outcome", "reason", \
      "source", "target"}], "sourceDigest", "targetDigest"}, and with --dry-run {"after", \
      "before", "isWeaker", "items": [{"action", "reason", "source", "target"}]}; sources and \
      targets are as in list --json.

      Example:
        session-tools init ~/vault --key secret-service:vault
        session-tools migrate --from secret-service: --to ~/vault --dry-run
        session-tools migrate --from secret-service: --to ~/vault --delete-source
        keepassxc-cli export --format xml passwords.kdbx |
          session-tools migrate --from keepass-xml:- --to ~/vault
      """)

  @Option(
    name: .long, help: ArgumentHelp("\(ItemSource.help)", valueName: "source"),
    completion: .directory, transform: ItemSource.init)
  var from: ItemSource
  @OptionGroup(title: "Key of the source") var fromKey: MigrationKeyOptions<SourceSide>

  @Option(
    name: .long, help: ArgumentHelp("The store to migrate to.", valueName: "store"),
    completion: .directory, transform: StoreLocation.init)
  var to: StoreLocation
  @OptionGroup(title: "Key of the target") var toKey: MigrationKeyOptions<TargetSide>

  @OptionGroup(title: "Items") var choices: MigrationChoices

  // Several are parsed, so that the error can say what is wrong with them.
  @Flag(help: "What to do instead of migrating.")
  var modes: [Mode] = []

  private var mode: Mode? { modes.first }

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The directory of the migration's journal; beside the target by default.",
      valueName: "directory"), completion: .directory,
    transform: { try StoreLocation("sealed:\($0)").sealedPath() })
  var journal: String?

  @OptionGroup var waiting: TimeoutOptions
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var format: JSONOption

  /// What to do instead of migrating.
  enum Mode: EnumerableFlag {
    case dryRun, resume, undo, close

    static func help(for mode: Mode) -> ArgumentHelp? {
      switch mode {
      case .dryRun: "Show what would be done, and do nothing."
      case .resume: "Continue a migration that was interrupted."
      case .undo: "Restore both stores as they were before a migration."
      case .close: "Forget a migration; it can no longer be undone."
      }
    }
  }

  func validate() throws {
    try KeyArgument.checkDescriptors(
      [fromKey.argument, toKey.argument], isInputTaken: from.takesInput)
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

  func run() throws {
    let source = try from.open(fromKey.argument, interaction, timeout: waiting.timeout)
    let target = try StoreOpener(
      location: to, key: toKey.argument, interaction: interaction, timeout: waiting.timeout
    ).openForMigration()
    let place = JournalLocation(
      path: journal, source: source, target: target, timeout: waiting.timeout)
    switch mode {
    case .dryRun:
      try plan(migration(source, target, MemoryStore()), place)
    case nil: try begin(source, target, place)
    case .resume:
      let migration = migration(source, target, try place.open())
      try output.tell(
        MigrationOutput.interruptibly(migration) { try $0.resume(progress: $1) }, canUndo: true)
    case .undo:
      let migration = migration(source, target, try place.open())
      try output.tell(
        undone: MigrationOutput.interruptibly(migration) { try $0.undo(progress: $1) })
    case .close:
      let journal = try place.open()
      let migration = migration(source, target, journal)
      // An empty store at a path that was given may be meant for something else.
      let isJournal = try place.isStandard || migration.state() != nil
      try migration.close()
      if isJournal { place.remove(journal) }
      if StandardError.isTerminal { StandardError.say("the migration is closed") }
    }
  }

  private var output: MigrationOutput { MigrationOutput(format: format) }

  private func migration(
    _ source: MigratedStore, _ target: MigratedStore, _ journal: any SecretStore
  ) -> Migration {
    Migration(from: source.store, to: target.store, journal: journal, options: choices.options)
  }

  /// Shows the plan, and ends as the migration would.
  private func plan(_ migration: Migration, _ place: JournalLocation) throws {
    try MigrationOutput.checkNames(migration)
    let plan = try MigrationOutput.interruptibly(migration) { try $0.plan(progress: $1) }
    try output.tell(plan: plan)
    if try SealedFileStore.exists(at: place.path) { try place.checkClosed(place.open()) }
    try migration.check(plan)
    guard plan.isComplete else { throw ExitCode(ExitStatus.incomplete.rawValue) }
  }

  private func begin(
    _ source: MigratedStore, _ target: MigratedStore, _ place: JournalLocation
  ) throws {
    try MigrationOutput.checkNames(migration(source, target, MemoryStore()))
    let (journal, isNew) = try place.openOrMake()
    try place.checkClosed(journal)
    let migration = migration(source, target, journal)
    do {
      try output.tell(
        MigrationOutput.interruptibly(migration) { try $0.run(progress: $1) }, canUndo: true)
    } catch {
      // The migration did not begin, so there is nothing to resume.
      if isNew, try migration.state() == nil { place.remove(journal) }
      throw error
    }
  }
}
