import ArgumentParser
import SealedStore
import ToolBase

/// `session-tools slots change`.
struct SlotsChangeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "change",
    abstract: "Replace the key or passphrase of a slot.",
    usage: "session-tools slots change [<store>] <slot> [<options>]",
    discussion: """
      Without an option for the new key, a passphrase is asked for on the terminal. The old key \
      still opens copies of the store from before. A key that opens another slot already is \
      refused (exit status 7).

      Example:
        session-tools slots change ~/vault 1 --new-key-file new.key
      """)

  @OptionGroup var opening: OpeningOptions<SlotArguments>
  @OptionGroup(title: "New key") var newKey: NewKeyOptions
  @OptionGroup(title: "Passphrase cost") var cost: PassphraseCostOptions

  func validate() throws {
    try KeyArgument.checkDescriptors([opening.key.argument, newKey.argument])
    try cost.check(newKey.argument)
  }

  func run() throws {
    let slot = try opening.store.slot()
    let store = try opening.open().store
    let key = try newKey.key(
      cost: cost.cost, opening.prompt(for: store), outside: store.path)
    if !key.isMade { try store.refuse(key.maker, argument: store.path, changing: slot) }
    try key.using(on: store.path) {
      try store.changeSlot(slot, to: newKey.labeled(key.maker))
    }
    StandardError.say("slot \(slot) changed")
    try KnownStores.announce(store)
    Protection.say(of: store, keyPlace: key.place)
    SecurityKeyAdvice.say(about: store)
  }
}
