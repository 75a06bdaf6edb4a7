import ArgumentParser
import SealedStore
import ToolBase

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
    let store = try opening.open().store
    try store.removeSlot(slot)
    StandardError.say("slot \(slot) removed")
    Protection.say(of: store, keyPlace: nil)
  }
}
