public import SessionToolsBase

extension SealedFileStore {
  /// Makes a new, empty store with one key slot, durable when this returns.
  ///
  /// The directory is made with mode 0700 when it is absent; its parent must exist.
  ///
  /// - Parameters:
  ///   - path: The store's directory: absent, or an empty one of mode 0700.
  ///   - key: What opens the store.
  ///   - options: What the caller chooses.
  /// - Returns: The open store.
  /// - Throws: `alreadyExists` when there is a store or anything else, `unavailable` when the
  ///   parent is missing, `unsafePermissions`, `accessDenied`, `noSpace`, `io`, or what the
  ///   key source throws.
  public static func create(
    at path: String, key: some KeySource, options: Options = Options()
  ) throws(StoreError) -> SealedFileStore {
    try create(at: path, key: key, options: options, environment: StoreEnvironment())
  }

  package static func create(
    at path: String, key: some KeySource, options: Options = Options(),
    environment: StoreEnvironment
  ) throws(StoreError) -> SealedFileStore {
    try create(
      at: path, key: key, options: options, environment: environment,
      identifier: StoreIdentifier(bytes: environment.random.bytes16()))
  }

  static func create(
    at path: String, key: some KeySource, options: Options, environment: StoreEnvironment,
    identifier: StoreIdentifier
  ) throws(StoreError) -> SealedFileStore {
    try makeDirectory(path, fileSystem: environment.fileSystem)
    let directory = try StoreDirectory(path, fileSystem: environment.fileSystem)
    try checkEmpty(directory)
    // The key first: it may ask, fail or take long, and nothing was written yet.
    let slot = try key.makeSlot()
    let held = try StoreLock(directory).lock(
      byte: StoreLock.writerByte, timeout: options.lockTimeout)
    defer { held.unlock() }
    // Once more: another process may have been faster.
    try checkEmpty(directory)
    try write(
      slot, to: directory, identifier: identifier, anchor: options.anchor,
      environment: environment)

    let state = try StoreLoader(directory, options, environment)
      .load(by: .source(NewSlotKey(slot: slot)))
    return try SealedFileStore(
      directory: directory, state: state, options: options, environment: environment)
  }

  /// Fails early, before a key is made for a store that cannot be.
  static func checkVacancy(
    of path: String, environment: StoreEnvironment
  ) throws(StoreError) {
    let status: FileStatus?
    do throws(SystemCallError) {
      status = try environment.fileSystem.status(of: path, in: .workingDirectory)
    } catch {
      throw StoreError(error, path: path)
    }
    guard status != nil else { return }
    try checkEmpty(StoreDirectory(path, fileSystem: environment.fileSystem))
  }

  private static func makeDirectory(
    _ path: String, fileSystem: any FileSystem
  ) throws(StoreError) {
    do throws(SystemCallError) {
      do throws(SystemCallError) {
        try fileSystem.makeDirectory(path)
      } catch let error where error.errno == SystemCallError.fileExists {
        // Whoever made it may have died before its name was durable.
      }
      let parent = try fileSystem.openDirectory(path.parentPath + "/.")
      defer { fileSystem.close(parent) }
      try fileSystem.synchronize(parent)
    } catch let error where error.errno == SystemCallError.noSuchFile {
      throw StoreError(
        StoreError.unavailable, store: path, reason: "the directory above it does not exist",
        remedy: "Make it first: mkdir -p \(path.parentPath.shellQuoted)", errno: error.errno)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Only what an interrupted creation leaves may be there: a lock, a mark, and a journal
  /// without records.
  ///
  /// A header is written after them, so whatever has one is a store.
  private static func checkEmpty(_ directory: StoreDirectory) throws(StoreError) {
    let names = Set(try directory.names())
    guard names.isDisjoint(with: [StoreDirectory.File.header, StoreDirectory.File.headerCopy])
    else {
      throw StoreError(
        StoreError.alreadyExists, store: directory.path, reason: "there is a store already",
        remedy: "Open it, or choose another directory")
    }
    let leftOver: Set = [
      StoreDirectory.File.lock, StoreDirectory.File.mark, StoreDirectory.File.journal,
      StoreDirectory.File.temporary,
    ]
    let journal = try directory.status(of: StoreDirectory.File.journal)
    guard names.isSubset(of: leftOver), (journal?.byteCount ?? 0) <= JournalHead.byteCount else {
      throw StoreError(
        StoreError.alreadyExists, store: directory.path, reason: "the directory is not empty",
        remedy: "Choose an empty or a new directory")
    }
  }

  private static func write(
    _ slot: (parameters: KeySlotParameters, key: WrappingKey), to directory: StoreDirectory,
    identifier store: StoreIdentifier, anchor: StoreAnchor.Keeper?, environment: StoreEnvironment
  ) throws(StoreError) {
    let random = environment.random
    let (storeKey, dataKey) = (try KeyBytes(), try KeyBytes())
    random.fill(storeKey)
    random.fill(dataKey)
    let keys = try KeyRing(storeKey: storeKey, dataKey: dataKey)

    var record = try SlotRecord(slot.parameters)
    Header.wrap(storeKey, in: &record, with: slot.key, store: store, random: random)
    var header = Header(store: store, slots: [record], wrappedDataKey: [])
    header.wrapDataKey(dataKey, with: storeKey, random: random)

    let head = JournalHead(
      store: store, journal: JournalIdentifier(bytes: random.bytes16()), chainKey: keys.chainKey)
    try writeNew(StoreDirectory.File.journal, head.encoded(), to: directory)
    let start = JournalPosition(byteCount: JournalHead.byteCount, number: 0, chain: head.chain)
    let mark = Mark(journal: head.journal, position: start)
    try writeNew(
      StoreDirectory.File.mark, mark.encoded(chainKey: keys.chainKey), to: directory)
    try directory.synchronize()
    // Before the header, which makes it a store: none is without its anchor.
    try anchor?.keep(StoreAnchor(store: store, marks: [mark]), path: directory.path)
    let headers = HeaderFiles(directory: directory)
    try headers.write(header, headerKey: keys.headerKey)
    // The store is there now; a copy that is missing is made by its first change.
    try? headers.writeCopy(header, headerKey: keys.headerKey)
  }

  private static func writeNew(
    _ name: String, _ content: ByteBuffer, to directory: StoreDirectory
  ) throws(StoreError) {
    let file = try directory.create(name)
    try file.write(content, 0..<content.byteCount, at: 0)
    try file.synchronize()
  }
}

/// Opens a store that was just made, without asking its key source again.
private struct NewSlotKey: KeySource {
  let slot: (parameters: KeySlotParameters, key: WrappingKey)

  func wrappingKey(for slot: KeySlotParameters) -> WrappingKey? { self.slot.key }

  func makeSlot() -> (parameters: KeySlotParameters, key: WrappingKey) { slot }
}
