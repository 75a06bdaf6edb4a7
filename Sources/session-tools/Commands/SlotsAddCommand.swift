import ArgumentParser
import SealedStore
import SessionToolsBase
import ToolBase

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
    try KeyArgument.checkDescriptors([opening.key.argument, newKey.argument])
    try cost.check(newKey.argument)
  }

  func run() throws {
    let store = try opening.open().store
    let key = try newKey.key(
      cost: cost.cost, opening.prompt(for: store), outside: store.path)
    if !key.isMade { try store.refuse(key.maker, argument: store.path) }
    let slot = try key.using(on: store.path) { try store.addSlot(newKey.labeled(key.maker)) }
    StandardError.say("slot \(slot.number) added")
    try KnownStores.announce(store)
    Protection.say(of: store, keyPlace: key.place)
    SecurityKeyAdvice.say(about: store)
  }
}
