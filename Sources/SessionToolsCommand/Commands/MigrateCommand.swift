import ArgumentParser

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

      Every step is first written to a sealed journal, by default beside the target, or else the \
      source, if it is in a directory. A migration \
      that was interrupted, by Ctrl-C or by a crash, continues with --resume. --undo restores both \
      stores, until --close forgets the migration; all three take both stores, their keys, and no \
      other choices, except that --resume --delete-source goes on to remove the items from the \
      source after a migration without it. doctor shows a migration that was not closed. Within \
      one store, items get other names: --rename-service, --to-install or --drop-install is needed.

      In pass, an item is a file, of the service pass. In keyring-file: an item is a password of \
      a service; the identifier is its user, always in lower case. In gh-hosts: an item is a token \
      of the service gh:HOST; the identifier is the user. In exports of KeePass, Bitwarden and \
      browsers an entry is a service, with the name of its groups, or folder, and its title: \
      Mail/Work. Its items are the fields that are not empty: password, username, url, notes, otp, \
      tags, expires, and those with names of their own. A machine of netrc: and a profile of \
      aws-credentials: are services, too: HOST, aws/PROFILE. An entry or field with the same name \
      as an earlier one gets a number: Mail/Work (2). Export into a pipe, so that no file in plain \
      text is left. What the source has besides, such as attachments, is listed as omitted, with \
      exit status 9. So is a choice of items, or of a program in the keyring, that matches nothing \
      although the source has items.

      Writes a line for each item that is not simply copied, with fields separated by tabs, and a \
      summary. With --json: {"after", "before", "isComplete", "items": [{"outcome", "reason", \
      "source", "target"}], "sourceDigest", "targetDigest"}, and with --dry-run {"after", \
      "before", "isWeaker", "items": [{"action", "reason", "source", "target"}]}; sources and \
      targets are as in list --json, and null for what is omitted, which has "name" and "part".

      Example:
        session-tools init ~/vault --key secret-service:vault
        session-tools migrate --from secret-service: --to ~/vault --dry-run
        session-tools migrate --from secret-service: --to ~/vault --delete-source
        keepassxc-cli export --format xml passwords.kdbx |
          session-tools migrate --from keepass-xml:- --to ~/vault
        session-tools migrate --from ~/vault \\
          --to postgresql://app@db.example.com/app --to-key-file app.key
      """)

  @Option(
    name: .long, help: ArgumentHelp("\(ItemSource.help)", valueName: "source"),
    completion: .directory, transform: ItemSource.init)
  var from: ItemSource
  @OptionGroup(title: "Key of the source") var fromKey: KeyOptions<SourceSide>
  @OptionGroup(title: "Database of the source") var fromDatabase: DatabaseOptions<SourceSide>

  @Option(
    name: .long, help: ArgumentHelp("The store to migrate to.", valueName: "store"),
    completion: .directory, transform: StoreLocation.init)
  var to: StoreLocation
  @OptionGroup(title: "Key of the target") var toKey: KeyOptions<TargetSide>
  @OptionGroup(title: "Database of the target") var toDatabase: DatabaseOptions<TargetSide>

  @OptionGroup var options: MigrateOptions
  @OptionGroup var waiting: TimeoutOptions

  func validate() throws {
    try KeyArgument.checkDescriptors(
      [fromKey.argument, fromDatabase.password, toKey.argument, toDatabase.password],
      isInputTaken: from.takesInput)
    try options.check()
  }

  func run() throws {
    let interaction = options.interaction
    let source = try from.open(
      fromKey.argument, fromDatabase.connection, optionStart: SourceSide.optionStart, interaction,
      timeout: waiting.timeout)
    let target = try StoreOpener(
      location: to, key: toKey.argument, database: toDatabase.connection,
      optionStart: TargetSide.optionStart, interaction: interaction, timeout: waiting.timeout
    ).openForMigration()
    try options.run(from: source, to: target, timeout: waiting.timeout)
  }
}
