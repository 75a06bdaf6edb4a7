import ArgumentParser
import SealedStore
import SecretServiceStore
import SessionToolsBase
import SessionToolsCommand

/// An existing store and its key.
struct OpeningOptions<Store: StoreChoice>: ParsableArguments {
  @OptionGroup var store: Store
  @OptionGroup var access: AccessOptions

  var key: KeyOptions { access.key }
  var interaction: InteractionOptions { access.interaction }
  var timeout: Duration { access.timeout }

  /// Returns what asks for a passphrase of an open store.
  func prompt(for store: SealedFileStore) -> PassphrasePrompt {
    PassphrasePrompt(path: store.path, interaction: interaction)
  }

  private func opener() throws -> StoreOpener { access.opener(of: try store.location()) }

  /// Opens a store of any kind for its items.
  ///
  /// - Throws: As `StoreOpener`.
  func openItems() throws -> ItemStore { try opener().openItems() }

  /// Opens a store of any kind as the source of a migration.
  ///
  /// - Throws: As `StoreOpener`.
  func openForMigration() throws -> MigratedStore { try opener().openForMigration() }

  /// Opens the sealed store, and releases the key that opened it.
  ///
  /// - Throws: As `StoreOpener`.
  func open() throws -> OpenStore { try openKeepingKey().open }

  /// Opens the sealed store, and also returns the key that opened it, for later use.
  ///
  /// - Throws: As `StoreOpener`.
  func openKeepingKey() throws -> (open: OpenStore, key: any KeySource) {
    try opener().openKeepingKey()
  }
}

/// A store that the command line names, and how to open it.
struct StoreOpener {
  let location: StoreLocation
  let key: KeyArgument?
  let interaction: InteractionOptions
  let timeout: Duration

  /// Opens a store of any kind for its items.
  ///
  /// - Throws: As ``openKeepingKey()``, and a usage failure for a key that the store does not take.
  func openItems() throws -> ItemStore {
    switch location {
    case .sealed:
      let open = try openKeepingKey().open
      return ItemStore(store: open.store, location: location, keyPlace: open.keyPlace)
    case .secretService(let collection):
      guard key == nil else {
        throw Failure(.usage, "the \(location) opens with the keyring's own password; give no key")
      }
      try SharedLibrary.secret.check()
      var options = SecretServiceStore.Options()
      options.timeout = timeout
      return ItemStore(
        store: SecretServiceStore(collection: collection, options: options), location: location,
        keyPlace: nil)
    }
  }

  /// Opens the sealed store, and also returns the key that opened it, for later use.
  ///
  /// - Throws: As `SealedFileStore.open`, `keyMissing` if no key for it is found, and a usage
  ///   failure for a store of another kind.
  func openKeepingKey() throws -> (open: OpenStore, key: any KeySource) {
    let path = try location.sealedPath()
    return try KeyFinder(path: path, argument: key, interaction: interaction).open(
      SealedFileStore.Options(lockTimeout: timeout, onNotice: Notices.report))
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
