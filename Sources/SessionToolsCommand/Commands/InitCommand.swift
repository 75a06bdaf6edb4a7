import ArgumentParser
import DatabaseStore
import SealedStore
import SecurityKeys
import SessionToolsBase

/// `session-tools init`.
struct InitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make a new, empty store.",
    discussion: """
      Without a key option, and without SESSION_TOOLS_KEY_FILE, a key file is created in \
      $XDG_DATA_HOME/session-tools/keys (~/.local/share by default), where the other commands \
      find it. A named key file, or a named key in the Secret Service, is created if it does not \
      exist. With the store and its key, anyone can read everything; without the key, no one can: \
      back up both, separately, or add a second key with session-tools slots add, or a recovery \
      key with --new-recipient.
      A store inside another store's directory is refused.

      In a database, a schema is made with its tables, and three roles: NAME_owner, which has \
      them, NAME_application, which programs need, and NAME_auditor, which may only read. The user \
      of the address needs the right to create roles, and CREATE on the database. A key has to be \
      named, because every machine needs it.

      Example:
        session-tools init ~/vault
        session-tools init ~/vault --passphrase
        session-tools init postgresql://admin@db.example.com/app --key-file app.key
        psql postgresql://admin@db.example.com/app \\
          --command 'GRANT session_tools_application TO app'
      """)

  @OptionGroup var store: StoreArgument
  @OptionGroup(title: "Key") var key: KeyOptions<OnlyStore>
  @Flag(
    name: .long,
    help: "With --security-key: no PIN, so that who has the key and the files opens the store.")
  var touchOnly = false
  @OptionGroup var recipient: NewRecipientOption
  @OptionGroup(title: "Passphrase cost") var cost: PassphraseCostOptions
  @OptionGroup(title: "Database") var database: DatabaseOptions<OnlyStore>
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var waiting: TimeoutOptions

  private var named: KeyArgument? {
    if key.securityKey, touchOnly { return .securityKey(.touchOnly, label: "") }
    return key.argument ?? KeySearch.keyFileOfEnvironment.map(KeyArgument.keyFile)
  }

  func validate() throws {
    guard key.securityKey || !touchOnly else {
      throw ValidationError("--touch-only is for --security-key.")
    }
    try cost.check(named)
  }

  func run() throws {
    let location = store.location()
    let place = try StoreOpener(
      location: location, key: nil, database: database.connection, interaction: interaction,
      timeout: waiting.timeout
    ).place()
    let (store, keyPlace) = try make(place)
    if let recipient = recipient.newRecipient { try store.addSlot(recipient) }
    try Protection.announce(store, keyPlace: keyPlace, place.words.asTyped)
    if case .database(let access) = place {
      let role = "\(access.options.schema)_application".asIdentifier
      StandardError.say(
        "Next, let the users that programs connect as use it: GRANT \(role) TO USER")
    }
  }

  private func make(
    _ place: SealedPlace
  ) throws -> (store: any SlotChanging, keyPlace: String?) {
    if let path = place.path, let outer = Files.store(around: path) {
      throw Failure(
        .usage, "\(path) is inside the store \(outer); choose a directory outside of it")
    }
    if case .database(let access) = place { try check(access) }
    guard let named else { return try makeWithKeyOfItsOwn(place) }
    let prompt = PassphrasePrompt(path: place.name, interaction: interaction)
    let key = try NewKey(named, cost: cost.cost, prompt, outside: place.path)
    return (try key.using(on: place) { try create(place, with: key.maker) }, key.place)
  }

  /// Checks a database before a key is made, or a passphrase chosen, for nothing.
  private func check(_ access: DatabaseAccess) throws {
    guard named != nil else {
      throw Failure(
        .usage,
        "name a key: --key-file FILE, which is created if it does not exist, or --passphrase")
    }
    try SealedDatabaseStore.checkName(access.options.schema)
    guard try access.inspector.rights().mayUseSchema == nil else {
      throw StoreError(
        .alreadyExists, store: access.name, reason: "there is a schema of that name already",
        remedy: "Use the store in it, or choose another name with --schema")
    }
  }

  private func create(
    _ place: SealedPlace, with key: some SlotMaker
  ) throws(StoreError) -> any SlotChanging {
    switch place {
    case .directory(let path):
      try SealedFileStore.create(
        at: path, key: key, options: SealedFileStore.Options(onNotice: Notices.report))
    case .database(let access):
      try SealedDatabaseStore.create(at: access.address, key: key, options: access.options)
    }
  }

  private func makeWithKeyOfItsOwn(
    _ place: SealedPlace
  ) throws -> (store: any SlotChanging, keyPlace: String?) {
    let (store, keyFile) = try SealedFileStore.createWithStandardKeyFile(
      at: place.name, options: SealedFileStore.Options(onNotice: Notices.report))
    return (store, keyFile.path)
  }
}

extension String {
  /// The name as it is written in a statement that a person types.
  var asIdentifier: String {
    let isPlain = wholeMatch(of: /[a-z_][a-z0-9_]*/) != nil
    return isPlain ? self : "\"\(replacing("\"", with: "\"\""))\""
  }
}
