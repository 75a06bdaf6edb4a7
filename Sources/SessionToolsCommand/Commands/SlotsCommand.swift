import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools slots`.
struct SlotsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "slots",
    abstract: "List, add, change or remove the keys that open a store.",
    discussion: """
      A store has 1 to 16 key slots, each of which opens all of it. Changing them rewrites a \
      small header, whatever the size of the store, and programs that have it open go on. A key \
      whose slot was changed or removed still opens copies and backups of the store from before; \
      to shut it out of what follows, run rotate --revoke.

      Without one of the four, lists them.

      Example:
        session-tools slots ~/vault
      """,
    subcommands: [
      SlotsListCommand.self, SlotsAddCommand.self, SlotsChangeCommand.self,
      SlotsRemoveCommand.self,
    ], defaultSubcommand: SlotsListCommand.self)
}

/// `session-tools slots list`.
struct SlotsListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the key slots of a store; needs no key.",
    discussion: """
      Two columns: the slot's number and what it opens with; they are separated by a tab unless \
      on a terminal. With --opens-with, only the slots that a key file opens; exit status 5 when \
      it opens no slot. If a key is found without asking, or given, the store's fingerprint is \
      written to standard error: a recipient needs it to open the store.

      With --json: {"fingerprint", "identifier", "slots": [{"kind", "label", "memoryByteCount", \
      "number", "passes", "reference", "scheme"}]}. A kind is rawKey, passphrase, namedKey or \
      unknown; a field that a kind does not have is null. The scheme of a namedKey is \
      secret-service, fido2 (a security key), x25519 (a recipient), or another one. The identifier \
      is the store's own.

      Example:
        session-tools slots list ~/vault
        session-tools slots list ~/vault --opens-with bob.key
      """)

  @OptionGroup var store: OptionalStoreArgument
  @Option(
    name: .long, help: ArgumentHelp("List only the slots of a key file.", valueName: "file"),
    completion: .file())
  var opensWith: String?
  @OptionGroup(title: "Key, for the fingerprint") var key: KeyOptions<OnlyStore>
  @OptionGroup(title: "Database") var database: DatabaseOptions<OnlyStore>
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var waiting: TimeoutOptions
  @OptionGroup var format: JSONOption

  func run() throws {
    let opener = StoreOpener(
      location: try store.location(), key: key.argument, database: database.connection,
      interaction: interaction, timeout: waiting.timeout)
    let place = try opener.place()
    let slots =
      try opensWith.map { try self.slots(opener, place, openedWith: $0) } ?? place.keySlots()
    let fingerprint = try fingerprint(opener, place)
    guard format.json else {
      return try SlotListOutput.writeTable(of: slots, fingerprint: fingerprint)
    }
    try format.write(
      SlotListOutput(
        identifier: try place.identifier(), slots: slots, fingerprint: fingerprint))
  }

  /// Returns the fingerprint; `nil` if no key was given and none is found without asking.
  private func fingerprint(
    _ opener: StoreOpener, _ place: SealedPlace
  ) throws -> StoreFingerprint? {
    do {
      guard case .directory(let path) = place else {
        // A person was asked for the database's password at most.
        let named = key.argument ?? KeySearch.keyFileOfEnvironment.map(KeyArgument.keyFile)
        return try named == nil ? nil : opener.open(place).open.store.fingerprint()
      }
      return try KeyFinder(path: path, argument: key.argument, interaction: .never)
        .fingerprint(waitingAtMost: waiting.timeout)
    } catch {
      // The slots are listed all the same: they tell which key is needed.
      guard key.argument == nil else { throw error }
      return nil
    }
  }

  /// Returns the slots that a key file opens.
  ///
  /// They are those that a revocation would keep for the file; it is planned and not made.
  private func slots(
    _ opener: StoreOpener, _ place: SealedPlace, openedWith file: String
  ) throws -> [KeySlot] {
    var opener = opener
    opener.key = .keyFile(file)
    return try opener.open(place).open.store.revocationPlan(keeping: [KeyFile(file)]).kept
  }
}

/// `session-tools slots add`.
struct SlotsAddCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Add a key or passphrase that opens a store.",
    discussion: """
      Without an option for the new key, a passphrase is asked for on the terminal. A label says \
      whose key it is: slots list shows it. A key that opens a slot already is refused (exit \
      status 7): removing one of its two slots would shut no one out.

      Example:
        session-tools slots add ~/vault --new-key-file bob.key --label bob
      """)

  @OptionGroup var opening: OpeningOptions<OptionalStoreArgument>
  @OptionGroup(title: "New key") var newKey: NewKeyOptions
  @OptionGroup(title: "Passphrase cost") var cost: PassphraseCostOptions

  func validate() throws {
    try KeyArgument.checkDescriptors(opening.access.secrets + [newKey.argument])
    try cost.check(newKey.argument)
  }

  func run() throws {
    let place = try opening.place()
    let store = try opening.open(place).open.store
    let key = try newKey.key(cost: cost.cost, opening.prompt(for: place), outside: place.path)
    if !key.isMade { try store.refuse(key.maker, words: opening.words(for: place)) }
    let slot = try key.using(on: place) { try store.addSlot(newKey.labeled(key.maker)) }
    StandardError.say("slot \(slot.number) added")
    try Protection.announce(store, keyPlace: key.place, opening.words(for: place))
  }
}

/// `session-tools slots change`.
struct SlotsChangeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "change",
    abstract: "Replace the key or passphrase of a slot.",
    usage: "session-tools slots change [<store>] <slot> [<options>]",
    discussion: """
      Without an option for the new key, a passphrase is asked for on the terminal. The old key \
      still opens copies of the store from before. The slot has the label that --label gives, not \
      the old one. A key that opens another slot already is refused (exit status 7).

      Example:
        session-tools slots change ~/vault 1 --new-key-file new.key
      """)

  @OptionGroup var opening: OpeningOptions<SlotArguments>
  @OptionGroup(title: "New key") var newKey: NewKeyOptions
  @OptionGroup(title: "Passphrase cost") var cost: PassphraseCostOptions

  func validate() throws {
    try KeyArgument.checkDescriptors(opening.access.secrets + [newKey.argument])
    try cost.check(newKey.argument)
  }

  func run() throws {
    let slot = try opening.store.slot()
    let place = try opening.place()
    let store = try opening.open(place).open.store
    let key = try newKey.key(cost: cost.cost, opening.prompt(for: place), outside: place.path)
    if !key.isMade { try store.refuse(key.maker, words: opening.words(for: place), changing: slot) }
    try key.using(on: place) { try store.changeSlot(slot, to: newKey.labeled(key.maker)) }
    StandardError.say("slot \(slot) changed")
    try Protection.announce(store, keyPlace: key.place, opening.words(for: place))
  }
}

/// `session-tools slots remove`.
struct SlotsRemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove a key slot.",
    usage: "session-tools slots remove [<store>] <slot> [<options>]",
    discussion: """
      The slots after it move up. The last slot cannot be removed. The key still opens copies of \
      the store from before. With an old header that was kept, it also opens everything written \
      until the next rotate --revoke.

      Example:
        session-tools slots remove ~/vault 2
      """)

  @OptionGroup var opening: OpeningOptions<SlotArguments>

  func run() throws {
    let slot = try opening.store.slot()
    let store = try opening.open(opening.place()).open.store
    try store.removeSlot(slot)
    StandardError.say("slot \(slot) removed")
    Protection.say(of: store, keyPlace: nil)
  }
}
