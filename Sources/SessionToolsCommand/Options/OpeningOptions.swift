import ArgumentParser
import SealedStore
import SecretServiceStore
import SessionToolsBase

/// An existing store and its key.
struct OpeningOptions<Store: StoreChoice>: ParsableArguments {
  @OptionGroup var store: Store
  @OptionGroup var access: AccessOptions

  var key: KeyOptions<OnlyStore> { access.key }
  var interaction: InteractionOptions { access.interaction }
  var timeout: Duration { access.timeout }

  /// Returns what opens the store.
  ///
  /// - Throws: As `StoreChoice.location()`.
  func opener() throws -> StoreOpener { access.opener(of: try store.location()) }

  /// Opens a store of any kind for its items.
  ///
  /// - Throws: As `StoreOpener`.
  func openItems() throws -> ItemStore { try opener().openItems() }

  /// Opens a store of any kind as the source of a migration.
  ///
  /// - Throws: As `StoreOpener`.
  func openForMigration() throws -> MigratedStore { try opener().openForMigration() }

  /// Returns what asks for a passphrase of a store.
  func prompt(for place: SealedPlace) -> PassphrasePrompt {
    PassphrasePrompt(path: place.name, interaction: interaction)
  }

  /// Returns how a command line names the store, and its key.
  func words(for place: SealedPlace) -> String {
    (place.words + key.words).asTyped
  }

  /// Returns the sealed store, not open yet.
  ///
  /// - Throws: As `StoreOpener`.
  func place() throws -> SealedPlace { try opener().place() }

  /// Opens the sealed store, and also returns the key that opened it, for later use.
  ///
  /// - Throws: As `StoreOpener`.
  func open(
    _ place: SealedPlace
  ) throws -> (open: OpenStore<any SlotChanging>, key: any KeySource) {
    try opener().open(place)
  }

  /// Opens the sealed store in a directory, and releases the key that opened it.
  ///
  /// - Parameter advice: What to do instead for a store in a database.
  /// - Returns: The open store.
  /// - Throws: As `StoreOpener`.
  func openDirectory(forDatabase advice: String) throws -> SealedFileStore {
    let opener = try opener()
    return try opener.openDirectory(
      at: opener.location.sealedPath(forDatabase: advice)
    ).open.store
  }
}

/// A store that the command line names, and how to open it.
struct StoreOpener {
  var location: StoreLocation
  var key: KeyArgument?
  let database: DatabaseConnection
  /// What the names of the store's options begin with.
  var optionStart = "--"
  var interaction: InteractionOptions
  let timeout: Duration

  /// Opens a store of any kind for its items.
  ///
  /// - Throws: As ``place()`` and ``open(_:)``, and a usage failure for a key that the store does
  ///   not take.
  func openItems() throws -> ItemStore {
    guard case .secretService(let collection) = location else {
      let open = try open(place()).open
      return ItemStore(store: open.store, location: location, keyPlace: open.keyPlace)
    }
    guard key == nil else {
      throw Failure(.usage, "the \(location) opens with the keyring's own password; give no key")
    }
    try database.checkIsEmpty(for: location)
    try SharedLibrary.secret.check()
    var options = SecretServiceStore.Options()
    options.timeout = timeout
    return ItemStore(
      store: SecretServiceStore(collection: collection, options: options), location: location,
      keyPlace: nil)
  }

  /// Returns the sealed store, not open yet; connects to its database.
  ///
  /// - Throws: As `DatabaseConnection.connect`, and a usage failure for a store of another kind or
  ///   for choices that have no meaning for it.
  func place() throws -> SealedPlace {
    switch location {
    case .sealed(let path):
      try database.checkIsEmpty(for: location)
      return .directory(path: path)
    case .secretService: throw location.notSealed
    case .database(let address):
      return .database(try database.connect(to: address, interaction, timeout: timeout))
    }
  }

  /// Opens a sealed store, and also returns the key that opened it, for later use.
  ///
  /// - Throws: As `SealedFileStore.open` and `SealedDatabaseStore.open`, and `keyMissing` if no key
  ///   for it is found.
  func open(
    _ place: SealedPlace
  ) throws -> (open: OpenStore<any SlotChanging>, key: any KeySource) {
    switch place {
    case .directory(let path):
      let (open, key) = try openDirectory(at: path)
      return (OpenStore(open), key)
    case .database(let access):
      let (open, key) = try access.open(key, interaction, optionStart: optionStart)
      return (OpenStore(open), key)
    }
  }

  /// Opens a sealed store in a directory, and also returns the key that opened it.
  ///
  /// - Throws: As `SealedFileStore.open`, and `keyMissing` if no key for it is found.
  func openDirectory(
    at path: String
  ) throws -> (open: OpenStore<SealedFileStore>, key: any KeySource) {
    try database.checkIsEmpty(for: location)
    return try KeyFinder(
      path: path, argument: key, interaction: interaction, optionStart: optionStart
    ).open(
      SealedFileStore.Options(lockTimeout: timeout, onNotice: Notices.report))
  }
}

extension OpenStore where Store == any SlotChanging {
  /// Makes the same of a store whose kind is known.
  init(_ open: OpenStore<some SlotChanging>) {
    self.init(store: open.store, keyName: open.keyName, keyPlace: open.keyPlace)
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
