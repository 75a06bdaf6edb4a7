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
    let key = try NewKey(
      newKey.argument, cost: cost.cost, opening.prompt(for: store), outside: store.path)
    if !key.isMade { try refuse(key.source, ifItOpens: store) }
    let slot = try key.using(on: store.path) { try store.addSlot(newKey.labeled(key.source)) }
    StandardError.say("slot \(slot.number) added")
    Protection.say(of: store, keyPlace: key.place)
  }

  /// - Throws: `alreadyExists` for a key that opens a slot, before anything is written.
  private func refuse(_ key: any KeySource, ifItOpens store: SealedFileStore) throws(StoreError) {
    let slots: [KeySlot]
    do throws(StoreError) {
      slots = try store.revocationPlan(keeping: [key]).kept
    } catch {
      // It opens no slot, or cannot be read, which adding it reports.
      return
    }
    guard let slot = slots.first else { return }
    throw StoreError(
      .alreadyExists, store: store.path, reason: "this key opens slot \(slot.number) already",
      remedy: "Give another key, or run session-tools slots change "
        + "\(store.path.shellQuoted) \(slot.number) to change that slot")
  }
}
