import ArgumentParser
import DatabaseStore
import SealedStore
import SessionToolsCommand

/// `session-tools-database slots`.
struct SlotsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "slots",
    abstract: "List, add, change or remove the keys that open a store.",
    discussion: """
      A store has 1 to 16 key slots, each of which opens all of it. Changing them rewrites one \
      row, whatever the size of the store, and programs that have it open go on. A key whose slot \
      was changed or removed still opens a backup of the database; to shut it out of what \
      follows, run rotate --revoke.

      Example:
        session-tools-database slots list postgresql://app@db.example.com/app
      """,
    subcommands: [List.self, Add.self, Change.self, Remove.self])

  /// `session-tools-database slots list`.
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the key slots of a store; needs no key.",
      discussion: """
        Two columns: the slot's number and what it opens with; they are separated by a tab unless \
        on a terminal. With a key, the store's fingerprint is written to standard error: a \
        recipient needs it to open the store. With --json: what session-tools slots list writes.

        Example:
          session-tools-database slots list postgresql://app@db.example.com/app
        """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup(title: "Key, for the fingerprint") var key: KeyOptions
    @OptionGroup var format: JSONOption

    func run() throws {
      let access = try database.connect()
      let header = try access.inspector.header()
      let named = key.argument ?? KeySearch.keyFileOfEnvironment.map(KeyArgument.keyFile)
      let fingerprint = try named.map { named in
        try access.open(named, database.interaction).store.fingerprint()
      }
      guard format.json else {
        return try SlotListOutput.writeTable(of: header.keySlots, fingerprint: fingerprint)
      }
      try format.write(
        SlotListOutput(
          identifier: header.store.bytes.hexadecimal, slots: header.keySlots,
          fingerprint: fingerprint))
    }
  }

  /// `session-tools-database slots add`.
  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Add a key or passphrase that opens a store.",
      discussion: """
        Without an option for the new key, a passphrase is asked for on the terminal. A label says \
        whose key it is: slots list shows it. A key that opens a slot already is refused (exit \
        status 7).

        Example:
          session-tools-database slots add postgresql://app@db.example.com/app \\
            --key-file app.key --new-key-file bob.key --label bob
        """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup(title: "Key") var key: KeyOptions
    @OptionGroup(title: "New key") var newKey: NewKeyOptions
    @OptionGroup(title: "Passphrase cost") var cost: PassphraseCostOptions

    func validate() throws {
      try KeyArgument.checkDescriptors([key.argument, newKey.argument])
      try cost.check(newKey.argument)
    }

    func run() throws {
      let access = try database.connect()
      let store = try access.open(key.argument, database.interaction).store
      let new = try newKey.key(
        cost: cost.cost, access.prompt(database.interaction), outside: nil)
      if !new.isMade { try store.refuse(new.maker, argument: database.address) }
      let slot = try new.using(on: access.name, mayOpen: access.mayOpen) {
        try store.addSlot(newKey.labeled(new.maker))
      }
      StandardError.say("slot \(slot.number) added")
      try KnownStores.announce(store)
      Protection.say(of: store, keyPlace: new.place)
    }
  }

  /// `session-tools-database slots change`.
  struct Change: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "change",
      abstract: "Replace the key or passphrase of a slot.",
      discussion: """
        Without an option for the new key, a passphrase is asked for on the terminal. The old key \
        still opens backups of the database. A key that opens another slot already is refused \
        (exit status 7).

        Example:
          session-tools-database slots change postgresql://app@db.example.com/app 1 \\
            --key-file app.key --new-key-file new.key
        """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var slot: SlotArgument
    @OptionGroup(title: "Key") var key: KeyOptions
    @OptionGroup(title: "New key") var newKey: NewKeyOptions
    @OptionGroup(title: "Passphrase cost") var cost: PassphraseCostOptions

    func validate() throws {
      try KeyArgument.checkDescriptors([key.argument, newKey.argument])
      try cost.check(newKey.argument)
    }

    func run() throws {
      let access = try database.connect()
      let store = try access.open(key.argument, database.interaction).store
      let new = try newKey.key(
        cost: cost.cost, access.prompt(database.interaction), outside: nil)
      if !new.isMade {
        try store.refuse(new.maker, argument: database.address, changing: slot.number)
      }
      try new.using(on: access.name, mayOpen: access.mayOpen) {
        try store.changeSlot(slot.number, to: newKey.labeled(new.maker))
      }
      StandardError.say("slot \(slot.number) changed")
      try KnownStores.announce(store)
      Protection.say(of: store, keyPlace: new.place)
    }
  }

  /// `session-tools-database slots remove`.
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove a key slot.",
      discussion: """
        The slots after it move up. The last slot cannot be removed. The key still opens backups \
        of the database; with an old header that someone puts back, it also opens everything \
        written until the next rotate --revoke.

        Example:
          session-tools-database slots remove postgresql://app@db.example.com/app 2 \\
            --key-file app.key
        """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var slot: SlotArgument
    @OptionGroup(title: "Key") var key: KeyOptions

    func run() throws {
      let access = try database.connect()
      let store = try access.open(key.argument, database.interaction).store
      try store.removeSlot(slot.number)
      StandardError.say("slot \(slot.number) removed")
      Protection.say(of: store, keyPlace: nil)
    }
  }

  /// The argument that names a slot.
  struct SlotArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The slot's number, as in slots list.", valueName: "slot"))
    var number: Int
  }
}
