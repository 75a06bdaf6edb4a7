import ArgumentParser
import SealedStore
import SecurityKeys
import SessionToolsBase
import SessionToolsCommand

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

      Example:
        session-tools init ~/vault
        session-tools init ~/vault --passphrase
      """)

  @OptionGroup var store: StoreArgument
  @OptionGroup(title: "Key") var key: KeyOptions
  @Flag(
    name: .long,
    help: "With --security-key: no PIN, so that who has the key and the files opens the store.")
  var touchOnly = false
  @OptionGroup var recipient: NewRecipientOption
  @OptionGroup(title: "Passphrase cost") var cost: PassphraseCostOptions
  @OptionGroup var interaction: InteractionOptions

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
    let path = try store.location().sealedPath()
    if let outer = Files.store(around: path) {
      throw Failure(
        .usage, "\(path) is inside the store \(outer); choose a directory outside of it")
    }
    let (store, keyPlace) =
      if let named { try make(at: path, with: named) } else { try makeWithKeyOfItsOwn(at: path) }
    if let recipient = recipient.newRecipient { try store.addSlot(recipient) }
    try KnownStores.announce(store)
    Protection.say(of: store, keyPlace: keyPlace)
    SecurityKeyAdvice.say(about: store)
  }

  private func make(
    at path: String, with named: KeyArgument
  ) throws -> (store: SealedFileStore, keyPlace: String?) {
    let prompt = PassphrasePrompt(path: path, interaction: interaction)
    let key = try NewKey(named, cost: cost.cost, prompt, outside: path)
    return (try key.using(on: path) { try create(at: path, with: key.maker) }, key.place)
  }

  private func create(
    at path: String, with key: some SlotMaker
  ) throws(StoreError) -> SealedFileStore {
    try SealedFileStore.create(
      at: path, key: key, options: SealedFileStore.Options(onNotice: Notices.report))
  }

  private func makeWithKeyOfItsOwn(
    at path: String
  ) throws -> (store: SealedFileStore, keyPlace: String?) {
    let (store, keyFile) = try SealedFileStore.createWithStandardKeyFile(
      at: path, options: SealedFileStore.Options(onNotice: Notices.report))
    return (store, keyFile.path)
  }
}
