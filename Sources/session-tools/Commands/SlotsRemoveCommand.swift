import ArgumentParser
import SealedStore

/// `session-tools slots remove`.
struct SlotsRemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove a key slot.",
    discussion: """
      The slots behind it move up. The last slot cannot be removed. The key still opens copies \
      of the store from before, and what is written until the next rotate --revoke if whoever \
      has it kept an old header.
      """)

  @OptionGroup var opening: OpeningOptions
  @Argument(help: "The slot, as slots list numbers them.") var slot: Int

  func run() throws {
    let store = try opening.open().store
    try store.removeSlot(slot)
    StandardError.say("slot \(slot) removed")
    Protection.say(of: store, keyPlace: nil)
  }
}
