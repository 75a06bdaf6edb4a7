import ArgumentParser
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsCommand

/// `session-tools-database init`.
struct InitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make a new, empty store in a database.",
    discussion: """
      Makes a schema with its tables, and three roles: NAME_owner, which has them, \
      NAME_application, which programs need, and NAME_auditor, which may only read. The user of \
      the address needs the right to create roles, and CREATE on the database.

      A key has to be named, because every machine needs it; a key file is created if it does not \
      exist. Keep a copy of it away from the database: without a key, no one can read the store.

      Example:
        session-tools-database init postgresql://admin@db.example.com/app \\
          --key-file app.key
        psql postgresql://admin@db.example.com/app \\
          --command 'GRANT session_tools_application TO app'
      """)

  @OptionGroup var database: DatabaseOptions
  @OptionGroup(title: "Key") var key: KeyOptions
  @OptionGroup var recipient: NewRecipientOption
  @OptionGroup(title: "Passphrase cost") var cost: PassphraseCostOptions

  private var named: KeyArgument? {
    key.argument ?? KeySearch.keyFileOfEnvironment.map(KeyArgument.keyFile)
  }

  func validate() throws {
    try cost.check(named)
    guard named != nil else {
      throw ValidationError(
        "Name a key: --key-file FILE, which is created if it does not exist, or --passphrase.")
    }
  }

  func run() throws {
    let access = try database.connect()
    let name = access.name
    try SealedDatabaseStore.checkName(access.options.schema)
    // Before a key is made, or a passphrase chosen, for nothing.
    guard try access.inspector.rights().mayUseSchema == nil else {
      throw StoreError(
        .alreadyExists, store: name, reason: "there is a schema of that name already",
        remedy: "Use the store in it, or choose another name with --schema")
    }
    guard let named else { preconditionFailure("validate() has refused a command without a key") }
    let key = try NewKey(
      named, cost: cost.cost, access.prompt(database.interaction), outside: nil)
    let store = try key.using(on: name, mayOpen: access.mayOpen) {
      try create(access, with: key.maker)
    }
    if let recipient = recipient.newRecipient { try store.addSlot(recipient) }
    try KnownStores.announce(store)
    Protection.say(of: store, keyPlace: key.place)
    let role = "\(access.options.schema)_application"
    StandardError.say(
      "Next, let the users that programs connect as use it: GRANT \(role.asIdentifier) TO USER")
  }

  private func create(
    _ access: DatabaseAccess, with key: some SlotMaker
  ) throws(StoreError) -> SealedDatabaseStore {
    try SealedDatabaseStore.create(at: access.address, key: key, options: access.options)
  }
}

extension String {
  /// The name as it is written in a statement that a person types.
  var asIdentifier: String {
    let isPlain = wholeMatch(of: /[a-z_][a-z0-9_]*/) != nil
    return isPlain ? self : "\"\(replacing("\"", with: "\"\""))\""
  }
}
