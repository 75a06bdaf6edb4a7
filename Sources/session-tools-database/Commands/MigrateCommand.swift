import ArgumentParser
import SealedStore
import SessionToolsBase
import SessionToolsCommand

/// `session-tools-database migrate`.
struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Move items from a store in a directory to one in a database, or back.",
    discussion: """
      One of source and target is a database, postgresql://USER@HOST/DATABASE, and the other one \
      a sealed store in a directory. Both exist: make them with init.

      Plans first, and changes nothing when the target has other values under some of the names \
      (exit status 7), or would protect the items less than the source (exit status 1). Then \
      copies, reads every item back from the target and compares it. The source stays as it is \
      without --delete-source. Exit status 9 when some items were not migrated. --dry-run shows \
      the plan, and ends with the message and the exit status that migrating would have.

      Every step is first written to a sealed journal beside the store in the directory. A \
      migration that was interrupted, by Ctrl-C or by a crash, continues with --resume. --undo \
      restores both stores, until --close forgets the migration; all three take both stores, \
      their keys, and no other choices, except that --resume --delete-source goes on to remove \
      the items from the source after a migration without it.

      Writes a line for each item that is not simply copied, with fields separated by tabs, and a \
      summary; with --json, what session-tools migrate writes.

      Example:
        session-tools-database migrate --from ~/vault \\
          --to postgresql://app@db.example.com/app --to-key-file app.key
        session-tools-database migrate --from ~/vault \\
          --to postgresql://app@db.example.com/app --to-key-file app.key --close
      """)

  @Option(
    name: .long, help: ArgumentHelp("The store to migrate from.", valueName: "store"),
    completion: .directory, transform: MigrationEnd.init)
  var from: MigrationEnd
  @OptionGroup(title: "Key of the source") var fromKey: MigrationKeyOptions<SourceSide>

  @Option(
    name: .long, help: ArgumentHelp("The store to migrate to.", valueName: "store"),
    completion: .directory, transform: MigrationEnd.init)
  var to: MigrationEnd
  @OptionGroup(title: "Key of the target") var toKey: MigrationKeyOptions<TargetSide>

  @OptionGroup(title: "Database") var connection: ConnectionOptions
  @OptionGroup var options: MigrateOptions

  func validate() throws {
    try KeyArgument.checkDescriptors([fromKey.argument, toKey.argument])
    guard from.isDatabase != to.isDatabase else {
      throw ValidationError(
        "One of --from and --to is a database, postgresql://USER@HOST/DATABASE, and the other one "
          + "a store in a directory. session-tools migrate copies between two directories.")
    }
    try options.check()
  }

  func run() throws {
    try options.run(
      from: open(from, fromKey), to: open(to, toKey), timeout: Self.fileTimeout)
  }

  /// How long to wait for another process that writes to the store in a directory.
  private static let fileTimeout = Duration.seconds(10)

  private func open<Side>(
    _ end: MigrationEnd, _ key: MigrationKeyOptions<Side>
  ) throws -> MigratedStore {
    switch end {
    case .database(let address):
      let open = try connection.connect(to: address, options.interaction)
        .open(key.argument, options.interaction, keyOptions: "--\(Side.prefix)-")
      return MigratedStore(store: open.store, key: open.key.source)
    case .directory(let path):
      let (open, key) = try KeyFinder(
        path: path, argument: key.argument, interaction: options.interaction
      ).open(SealedFileStore.Options(lockTimeout: Self.fileTimeout, onNotice: Notices.report))
      return MigratedStore(store: open.store, location: .sealed(path: path), key: key)
    }
  }
}

/// One of the stores of a migration.
enum MigrationEnd {
  case database(address: String)
  case directory(path: String)

  private static let schemes = ["postgresql://", "postgres://"]

  /// Reads `postgresql://…`, `PATH` or `sealed:PATH`.
  ///
  /// - Throws: `ValidationError` for anything else.
  init(_ argument: String) throws {
    if Self.schemes.contains(where: argument.hasPrefix) {
      self = .database(address: argument)
      return
    }
    self = .directory(path: try Directory.path(argument, or: Self.schemes))
  }

  var isDatabase: Bool { if case .database = self { true } else { false } }
}
