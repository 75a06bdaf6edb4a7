import ArgumentParser
import SealedStore
import SessionToolsBase
import SessionToolsCommand

/// `session-tools rotate`.
struct RotateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Seal everything again, under a new random key.",
    discussion: """
      All slots still open the store. With --revoke, only those whose keys are given do: the key \
      that opens the store now, unless --drop-opening-key is given, and the keys that the --keep \
      options name. The others are shut out, even with an old header. They still open every copy \
      of the store from before.

      Before a revocation, the slots to keep and to drop are written to standard error, and \
      confirmation is asked for on the terminal if any is dropped; --yes confirms without asking.

      Example:
        session-tools rotate ~/vault
        session-tools rotate ~/vault --revoke --keep-key-file bob.key
      """)

  @OptionGroup var opening: OpeningOptions<StoreArgument>

  @OptionGroup var revocation: RevocationOptions

  func validate() throws {
    try KeyArgument.checkDescriptors([opening.key.argument] + revocation.keep.arguments)
  }

  func run() throws {
    let open: OpenStore
    if revocation.revoke {
      let key: any KeySource
      (open, key) = try opening.openKeepingKey()
      try revocation.run(on: open.store, openedWith: key, opening.interaction)
    } else {
      open = try opening.open()
      try ProgressLine.during("sealing") { try open.store.rotate(progress: $0) }
    }
    let keyPlace = revocation.dropOpeningKey ? nil : open.keyPlace
    Protection.say(of: open.store, keyPlace: keyPlace)
  }
}
