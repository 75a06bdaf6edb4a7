import ArgumentParser
import SealedStore
import SecretServiceStore
import SessionToolsBase

/// An existing store and what opens it.
struct OpeningOptions: ParsableArguments {
  @OptionGroup var store: StoreArgument
  @OptionGroup(title: "Key") var key: KeyOptions
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var waiting: TimeoutOptions

  var location: StoreLocation { store.location }
  var timeout: Duration { waiting.timeout }
  var prompt: PassphrasePrompt { opener.prompt }

  private var opener: StoreOpener {
    StoreOpener(
      location: location, key: key.argument, interaction: interaction, timeout: timeout)
  }

  /// Opens a store of any kind for its items.
  ///
  /// - Throws: As `StoreOpener`.
  func openItems() throws -> ItemStore { try opener.openItems() }

  /// Opens the sealed store, and lets go of what opened it.
  ///
  /// - Throws: As `StoreOpener`.
  func open() throws -> OpenStore { try openKeepingKey().open }

  /// Opens the sealed store, and keeps the key that opened it for a use to come.
  ///
  /// - Throws: As `StoreOpener`.
  func openKeepingKey() throws -> (open: OpenStore, key: any KeySource) {
    try opener.openKeepingKey()
  }
}

/// Opens a store that the command line names.
struct StoreOpener {
  let location: StoreLocation
  let key: KeyArgument?
  let interaction: InteractionOptions
  let timeout: Duration

  var prompt: PassphrasePrompt {
    PassphrasePrompt(path: "\(location)", interaction: interaction)
  }

  /// Opens a store of any kind for its items.
  ///
  /// - Throws: As ``openKeepingKey()``, and a usage failure for a key that the store has no use
  ///   for.
  func openItems() throws -> ItemStore {
    switch location {
    case .sealed:
      let open = try openKeepingKey().open
      return ItemStore(store: open.store, location: location, keyPlace: open.keyPlace)
    case .secretService(let collection):
      guard key == nil else {
        throw Failure(.usage, "the \(location) opens with the keyring's own password; give no key")
      }
      var options = SecretServiceOptions()
      options.timeout = timeout
      return ItemStore(
        store: SecretServiceStore(collection: collection, options: options), location: location,
        keyPlace: nil)
    }
  }

  /// Opens the sealed store, and keeps the key that opened it for a use to come.
  ///
  /// - Throws: As `SealedFileStore.open`, `keyMissing` when nothing is found to open it, and a
  ///   usage failure for a store of another kind.
  func openKeepingKey() throws -> (open: OpenStore, key: any KeySource) {
    let path = try location.sealedPath()
    return try KeyFinder(path: path, argument: key, interaction: interaction).open(
      SealedFileStore.Options(lockTimeout: timeout, onNotice: Notices.tell))
  }
}

/// A store of any kind.
struct ItemStore {
  let store: any MigratableStore
  let location: StoreLocation
  /// The file the key is in, if it is in one.
  let keyPlace: String?

  /// Wipes the keys, and lets a sealed store compact a small journal.
  func close() {
    (store as? any LockableSecretStore)?.lock()
  }
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
