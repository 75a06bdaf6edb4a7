import ArgumentParser
import DatabaseStore
import SealedStore
import SessionToolsCommand

/// `session-tools-database rotate`.
struct RotateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Seal everything again, under a new random key.",
    discussion: """
      Programs go on reading and writing meanwhile. A rotation that was interrupted is continued \
      by the next one; doctor says that one is pending.

      All slots still open the store. With --revoke, only those whose keys are given do: the key \
      that opens the store now, unless --drop-opening-key is given, and the keys that the --keep \
      options name. The others are shut out, even with an old header; they still open every \
      backup from before. Programs that have the store open stop with the error wrongKey, and \
      have to be started again with a key that was kept.

      Before a revocation, the slots to keep and to drop are written to standard error, and \
      confirmation is asked for on the terminal if any is dropped; --yes confirms without asking.

      Example:
        session-tools-database rotate postgresql://app@db.example.com/app \\
          --key-file app.key
        session-tools-database rotate postgresql://app@db.example.com/app \\
          --key-file app.key --revoke --keep-key-file bob.key
      """)

  @OptionGroup var database: DatabaseOptions
  @OptionGroup(title: "Key") var key: KeyOptions
  @OptionGroup var revocation: RevocationOptions

  func validate() throws {
    try KeyArgument.checkDescriptors([key.argument] + revocation.keep.arguments)
  }

  func run() throws {
    let access = try database.connect()
    let open = try access.open(key.argument, database.interaction)
    let store = open.store
    if revocation.revoke {
      try revocation.run(on: store, openedWith: open.key.source, database.interaction)
    } else {
      try ProgressLine.during("sealing") { progress in try store.rotate(progress: progress) }
    }
    Protection.say(of: store, keyPlace: revocation.dropOpeningKey ? nil : open.key.place)
  }
}
