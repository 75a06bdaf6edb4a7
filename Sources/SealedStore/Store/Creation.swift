public import SecretStores

extension SealedFileStore {
  /// Makes a new, empty store with one key slot, durable when this returns.
  ///
  /// The directory is made with mode 0700 when it is absent; its parent must exist. Blocks for some
  /// syncs, and for as long as the maker takes: a new ``Passphrase`` takes a second or more.
  ///
  /// - Parameters:
  ///   - path: The store's directory: absent, or an empty one of mode 0700.
  ///   - key: The maker of the slot.
  ///   - options: The options of the open store.
  /// - Returns: The open store.
  /// - Throws: `alreadyExists` when there is a store or anything else, `unavailable` when the
  ///   parent is missing, `unsafePermissions`, `accessDenied`, `noSpace`, `io`, or an error of the
  ///   maker.
  public static func create(
    at path: String, key: some SlotMaker, options: Options = Options()
  ) throws(StoreError) -> SealedFileStore {
    try create(at: path, key: key, options: options, environment: StoreEnvironment())
  }

  package static func create(
    at path: String, key: some SlotMaker, options: Options = Options(),
    environment: StoreEnvironment
  ) throws(StoreError) -> SealedFileStore {
    try create(
      at: path, key: key, options: options, environment: environment,
      identifier: StoreIdentifier(bytes: environment.random.bytes16()))
  }

  static func create(
    at path: String, key: some SlotMaker, options: Options, environment: StoreEnvironment,
    identifier: StoreIdentifier
  ) throws(StoreError) -> SealedFileStore {
    let path = path.withoutTrailingSlashes
    // The key is made first: its maker may ask a person, fail or take long, and nothing was
    // written yet.
    try checkVacancy(of: path, environment: environment)
    let slot = try key.makeSlot()
    try makeDirectory(path, fileSystem: environment.fileSystem)
    let directory = try PrivateDirectory.ofStore(
      at: path, isNew: true, fileSystem: environment.fileSystem)
    let held = try LockFile(directory).lock(
      byte: LockFile.writerByte, timeout: options.lockTimeout)
    defer { held.unlock() }
    // This is checked once more: another process may have been faster.
    try checkEmpty(directory)
    try write(
      slot, to: directory, identifier: identifier, anchor: options.anchor,
      environment: environment)

    let loader = StoreLoader(directory, options, environment)
    var search = KeySearch(by: .source(NewSlotKey(slot: slot)))
    let loaded = try loader.load(&search, holding: .exclusive, after: LastSeen())
    guard let state = loaded else { throw loader.corrupt("the new store was changed") }
    return try SealedFileStore(
      directory: directory, state: state, options: options, environment: environment)
  }

  /// Fails early, before a key is made for a store that cannot be created.
  static func checkVacancy(
    of path: String, environment: StoreEnvironment
  ) throws(StoreError) {
    let fileSystem = environment.fileSystem
    if try exists(path, fileSystem) {
      try checkEmpty(.ofStore(at: path, isNew: true, fileSystem: fileSystem))
    } else if try !exists(path.parentPath, fileSystem) {
      throw noParent(of: path)
    }
  }

  private static func exists(
    _ path: String, _ fileSystem: any FileSystem
  ) throws(StoreError) -> Bool {
    do throws(SystemCallError) {
      return try fileSystem.status(of: path, in: .workingDirectory) != nil
    } catch {
      throw StoreError(error, path: path)
    }
  }

  private static func noParent(of path: String, errno: Int32? = nil) -> StoreError {
    StoreError(
      .unavailable, store: path, reason: "the directory above it does not exist",
      remedy: "Make it first: mkdir -p \(path.parentPath.shellQuoted)", errno: errno)
  }

  private static func makeDirectory(
    _ path: String, fileSystem: any FileSystem
  ) throws(StoreError) {
    do throws(SystemCallError) {
      do throws(SystemCallError) {
        try fileSystem.makeDirectory(path)
      } catch let error where error.errno == SystemCallError.fileExists {
        // The process that made it may have died before its name was durable.
      }
      let parent = try fileSystem.openDirectory(path.parentPath + "/.")
      defer { fileSystem.close(parent) }
      try fileSystem.synchronize(parent)
    } catch let error where error.errno == SystemCallError.noSuchFile {
      throw noParent(of: path, errno: error.errno)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Checks that a directory has only what an interrupted creation leaves: a lock, a mark, and a
  /// journal without records.
  ///
  /// A header is written after them, so a directory with a header is a store.
  private static func checkEmpty(_ directory: PrivateDirectory) throws(StoreError) {
    let names = Set(try directory.names())
    guard names.isDisjoint(with: [StoreFile.header, StoreFile.headerCopy])
    else {
      throw StoreError(
        .alreadyExists, store: directory.path, reason: "there is a store already",
        remedy: "Open it, or choose another directory")
    }
    let leftOver: Set = [
      StoreFile.lock, StoreFile.mark, StoreFile.journal,
      StoreFile.temporary,
    ]
    let journal = try directory.status(of: StoreFile.journal)
    guard names.isSubset(of: leftOver), (journal?.byteCount ?? 0) <= JournalHead.byteCount else {
      throw StoreError(
        .alreadyExists, store: directory.path, reason: "the directory is not empty",
        remedy: "Choose an empty or a new directory")
    }
  }

  private static func write(
    _ slot: (parameters: KeySlot.Parameters, key: WrappingKey), to directory: PrivateDirectory,
    identifier store: StoreIdentifier, anchor: StoreAnchor.Keeper?, environment: StoreEnvironment
  ) throws(StoreError) {
    let random = environment.random
    let (storeKey, dataKey) = (try KeyBytes(), try KeyBytes())
    random.fill(storeKey)
    random.fill(dataKey)
    let keys = try KeyRing(storeKey: storeKey, dataKey: dataKey)

    let record = try Header.wrap(
      storeKey, in: SlotHead(slot.parameters), with: slot.key, store: store, random: random)
    var header = Header(store: store, slots: [record], wrappedDataKey: [])
    header.wrapDataKey(dataKey, with: storeKey, random: random)

    let head = JournalHead(
      store: store, journal: JournalIdentifier(bytes: random.bytes16()), version: 0,
      predecessor: nil, chainKey: keys.chainKey)
    try writeNew(StoreFile.journal, head.encoded(), to: directory)
    let mark = Mark(journal: head.journal, position: head.start)
    try writeNew(
      StoreFile.mark, mark.encoded(chainKey: keys.chainKey), to: directory)
    try directory.synchronize()
    // This is before the header, which makes it a store: no store is without its anchor.
    try anchor?.keep(StoreAnchor(store: store, marks: [mark]), path: directory.path)
    let headers = HeaderFiles(directory: directory)
    try headers.write(header, headerKey: keys.headerKey)
    // The store exists now; its first change makes a copy that is missing.
    try? headers.writeCopy(header, headerKey: keys.headerKey)
  }

  private static func writeNew(
    _ name: String, _ content: ByteBuffer, to directory: PrivateDirectory
  ) throws(StoreError) {
    let file = try directory.create(name)
    try file.write(content, 0..<content.byteCount, at: 0)
    try file.synchronize()
  }
}
