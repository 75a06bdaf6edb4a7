import ArgumentParser
import SealedStore

/// `session-tools slots add`.
struct SlotsAddCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Add a key or passphrase that opens a store.",
    discussion: """
      Without an option for the new key, a passphrase is asked for on the terminal. A label says \
      whose key it is: slots list shows it.

      Example:
        session-tools slots add ~/vault --new-key-file bob.key --label bob
      """)

  @OptionGroup var opening: OpeningOptions
  @OptionGroup(title: "New key") var newKey: NewKeyOptions
  @OptionGroup(title: "Passphrase cost") var cost: PassphraseCostOptions

  func validate() throws {
    try KeyArgument.checkDescriptors([opening.key.argument, newKey.argument])
    try cost.check(newKey.argument)
  }

  func run() throws {
    let store = try opening.open().store
    let key = try NewKey(newKey.argument, cost: cost.cost, opening.prompt)
    let slot = try key.using(on: store.path) { try store.addSlot(newKey.labeled(key.source)) }
    StandardError.say("slot \(slot.number) added")
    Protection.say(of: store, keyPlace: key.place)
  }
}
