import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools lock`.
struct LockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock",
    abstract: "Wipe the key that unlock keeps for a store, or all of them.",
    discussion: """
      Without a store, wipes the keys of all stores, the default one among them. Nothing happens \
      when none is kept. Programs that have the store open are not affected.

      Example:
        session-tools lock ~/vault
        session-tools lock
      """)

  @Argument(
    help: ArgumentHelp(
      "The store: PATH or sealed:PATH; all stores when it is left out.", valueName: "store"),
    completion: .directory, transform: StoreLocation.init)
  var location: StoreLocation?

  static let advice = "the key of a store in a database is not kept"

  func run() throws {
    try wipe()
    if StandardError.isTerminal { StandardError.say(location.map { "\($0): locked" } ?? "locked") }
  }

  private func wipe() throws {
    guard let path = try location?.sealedPath(forDatabase: LockCommand.advice) else {
      _ = try KeyAgent().ask(.forgetAll)
      return
    }
    do throws(StoreError) {
      _ = try KeyAgent().ask(.forget(SealedFileStore.storeIdentifier(at: path)))
    } catch {
      throw error.advising("Run session-tools lock without a store, which wipes all keys")
    }
  }
}
