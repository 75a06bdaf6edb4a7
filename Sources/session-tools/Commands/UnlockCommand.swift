import ArgumentParser
import SecretServiceStore
import SessionToolsBase

/// `session-tools unlock`.
struct UnlockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock",
    abstract: "Unlock a collection of the desktop's keyring.",
    discussion: """
      The keyring's own program asks for the password, on the desktop; nothing happens when the \
      collection is already unlocked. No other command makes it ask. Exit status 4 when the \
      question was dismissed, could not be shown, or was not answered within 2 minutes.
      """)

  @OptionGroup var store: StoreArgument

  func run() throws {
    guard case .secretService(let collection) = store.location else {
      throw Failure(
        .usage, "unlock is for the Secret Service: secret-service: or secret-service:COLLECTION")
    }
    let service = SecretServiceStore(collection: collection)
    try service.waiting { service async throws(StoreError) in try await service.unlock() }
  }
}
