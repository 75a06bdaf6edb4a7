import ArgumentParser
import SealedStore
import SecretServiceStore
import SessionToolsBase

/// An existing store and what opens it.
struct OpeningOptions: ParsableArguments {
  @OptionGroup var store: StoreArgument
  @OptionGroup(title: "Key") var key: KeyOptions
  @OptionGroup var interaction: InteractionOptions

  @Option(
    name: .long,
    help: ArgumentHelp(
      "How long to wait for another process that writes, or for the Secret Service.",
      valueName: "seconds"))
  var timeout = 10.0

  var location: StoreLocation { store.location }
  var prompt: PassphrasePrompt {
    PassphrasePrompt(path: "\(location)", interaction: interaction)
  }

  func validate() throws {
    guard timeout >= 0, timeout <= 1e9 else {
      throw ValidationError("--timeout takes a number of seconds from 0.")
    }
  }

  /// Opens a store of any kind for its items.
  ///
  /// - Throws: As ``open()``, and a usage failure for a key that the store has no use for.
  func openItems() throws -> ItemStore {
    switch location {
    case .sealed:
      let open = try open()
      return ItemStore(store: open.store, location: location, keyPlace: open.keyPlace)
    case .secretService(let collection):
      guard key.argument == nil else {
        throw Failure(.usage, "the \(location) opens with the keyring's own password; give no key")
      }
      var options = SecretServiceOptions()
      options.timeout = .seconds(timeout)
      return ItemStore(
        store: SecretServiceStore(collection: collection, options: options), location: location,
        keyPlace: nil)
    }
  }

  /// Opens the sealed store, and lets go of what opened it.
  ///
  /// - Throws: As `SealedFileStore.open`, `keyMissing` when nothing is found to open it, and a
  ///   usage failure for a store of another kind.
  func open() throws -> OpenStore {
    try openKeepingKey().open
  }

  /// Opens the sealed store, and keeps the key that opened it for a use to come.
  ///
  /// - Throws: As ``open()``.
  func openKeepingKey() throws -> (open: OpenStore, key: any KeySource) {
    let path = try location.sealedPath()
    return try KeyFinder(path: path, options: key, interaction: interaction).open(
      SealedFileStore.Options(lockTimeout: .seconds(timeout), onNotice: Notices.tell))
  }
}

/// A store of any kind.
struct ItemStore {
  let store: any SecretStore
  let location: StoreLocation
  /// The file the key is in, if it is in one.
  let keyPlace: String?
}

/// A sealed store, and how to speak of the key that opened it.
///
/// Not the key itself: a passphrase is not in memory for as long as a person takes to answer the
/// next question.
struct OpenStore {
  let store: SealedFileStore
  /// What the key is: "the key file /x".
  let keyName: String
  /// The file the key is in, if it is in one.
  let keyPlace: String?
}
