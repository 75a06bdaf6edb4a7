import ArgumentParser
import SealedStore

/// `session-tools lock`.
struct LockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock",
    abstract: "Wipe the key that unlock keeps for a store, or all of them.",
    discussion: """
      Nothing happens when none is kept. Programs that have the store open are not affected.

      Example:
        session-tools lock ~/vault
        session-tools lock
      """)

  @Argument(
    help: ArgumentHelp(
      "The store: PATH or sealed:PATH; all stores when it is left out.", valueName: "store"),
    completion: .directory, transform: StoreLocation.init)
  var location: StoreLocation?

  func run() throws {
    let store = try location.map { try SealedFileStore.storeIdentifier(at: try $0.sealedPath()) }
    _ = try KeyAgent().ask(store.map(AgentRequest.forget) ?? .forgetAll)
  }
}
