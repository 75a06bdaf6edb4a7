import ArgumentParser
import SealedStore
import SecretServiceStore
import SessionToolsBase

/// `session-tools unlock`.
struct UnlockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock",
    abstract: "Keep a store's key for a while, or unlock a keyring.",
    discussion: """
      For a sealed store: asks for its passphrase, or takes the key that the options name, and \
      keeps the key in memory for --for. Until then, commands for the store do not ask, and \
      programs open it with AgentKey. The key is wiped sooner by lock, at logout, and when logind \
      reports that the desktop is locked or the machine goes to sleep; where nothing reports \
      these, unlock says so before it keeps the key. Unlocking again starts the time again. Every \
      program of the user can open the store meanwhile.

      For secret-service: and secret-service:COLLECTION: the keyring's own program asks for the \
      password, on the desktop; nothing happens when the collection is already unlocked. No other \
      command makes it ask. Exit status 4 when the question was dismissed, could not be shown, or \
      was not answered within 2 minutes.

      Example:
        session-tools unlock ~/vault --for 1h
        session-tools get ~/vault --service mail token
        session-tools lock ~/vault
      """)

  /// How long a key in the Secret Service may take.
  private static let timeout = Duration.seconds(10)

  @OptionGroup var store: OptionalStoreArgument

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp(
      "How long the key is kept, from 1s to 24h; 15m by default.", valueName: "time"),
    transform: KeepingTime.init)
  var time: KeepingTime?

  @OptionGroup(title: "Key") var key: KeyOptions<OnlyStore>
  @OptionGroup var interaction: InteractionOptions

  func run() throws {
    let location = try store.location()
    switch location {
    case .sealed(let path): try unlock(path)
    case .secretService(let collection): try unlock(collection, at: location)
    case .database: _ = try location.sealedPath(forDatabase: LockCommand.advice)
    }
  }

  private func unlock(_ path: String) throws {
    // The agent needs it, too.
    try TaskThreads.check()
    let duration = time ?? .standard
    let found = try KeyFinder(path: path, argument: key.argument, interaction: interaction)
      .openingKey(waitingAtMost: Self.timeout)
    if !KeyMemory.canBeLocked { Notices.report(.keyMemoryNotLocked) }
    if let warning = KeyEnds.find().warning { StandardError.say("\(path): \(warning)") }
    try AgentStart.keep(found.key, of: found.store, for: duration)
    StandardError.say("\(path): unlocked for \(duration)")
  }

  private func unlock(
    _ collection: SecretServiceStore.Collection, at location: StoreLocation
  ) throws {
    guard key.argument == nil, time == nil else {
      throw Failure(
        .usage,
        "the \(location) opens with the keyring's own password, and stays unlocked as long "
          + "as its program allows; give no key and no time")
    }
    try SharedLibrary.secret.check()
    let service = SecretServiceStore(collection: collection)
    try service.waiting { service async throws(StoreError) in try await service.unlock() }
  }
}
