import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools rotate`.
struct RotateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Seal everything again, under a new random key.",
    discussion: """
      All slots still open the store. With --revoke, only those whose keys are given do: the key \
      that opens the store now, unless --drop-opening-key is given, and the keys that the --keep \
      options name. The others are shut out, even with an old header. They still open every copy \
      and backup of the store from before.

      Programs that have a store in a database open go on during a rotation, and one that was \
      interrupted is continued by the next; after a revocation they stop with the error wrongKey, \
      and have to be started again with a key that was kept.

      Before a revocation, the slots to keep and to drop are written to standard error, and \
      confirmation is asked for on the terminal if any is dropped; --yes confirms without asking.

      Example:
        session-tools rotate ~/vault
        session-tools rotate ~/vault --revoke --keep-key-file bob.key
      """)

  @OptionGroup var opening: OpeningOptions<StoreArgument>

  @OptionGroup var revocation: RevocationOptions

  func validate() throws {
    try KeyArgument.checkDescriptors(opening.access.secrets + revocation.keep.arguments)
  }

  func run() throws {
    let (open, key) = try opening.open(opening.place())
    if revocation.revoke {
      try revocation.run(on: open.store, openedWith: key, opening.interaction)
    } else {
      try ProgressLine.during("sealing") { progress in try open.store.rotate(progress: progress) }
    }
    Protection.say(of: open.store, keyPlace: revocation.dropOpeningKey ? nil : open.keyPlace)
  }
}
