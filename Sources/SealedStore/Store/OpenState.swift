import SessionToolsBase

/// What an unlocked store knows: its keys, its header, and its journal as of the last look.
struct OpenState {
  enum Journal {
    case usable(JournalView)
    // Indirect, so that a copy, and every read makes one, is a reference and no more.
    indirect case unusable(StoreError)
  }

  var header: Header
  var keys: KeyRing
  /// The number of the slot that opened the store, when one had to.
  var slot: Int?
  /// The journal, or why it cannot be used.
  var journal: Journal
  /// Whether the journal belongs to `header.next`: a rotation was interrupted after the moment
  /// it counted, and the next writer finishes it.
  var isRotationPending = false
  /// Whether the header had to be read from its copy.
  var isHeaderFromCopy = false
  /// Whether this process is writing behind the end.
  ///
  /// Its readers do not look there until that is durable.
  var isWriting = false
  /// Whether this process is putting another journal in the place of the one it has open.
  ///
  /// Its readers keep to the old one until that is done.
  var isReplacingJournal = false

  /// Whether something is wrong that may be so only because others were at work meanwhile.
  var isInDoubt: Bool {
    switch journal {
    case .usable(let view): view.damage != nil
    case .unusable: true
    }
  }

  /// Brings the journal up to date with the file, whoever wrote it.
  ///
  /// - Throws: `corrupt`, `unsafePermissions`, `accessDenied` or `io`.
  mutating func refresh(from loader: StoreLoader) throws(StoreError) {
    if isReplacingJournal { return }
    guard case .usable(let view) = journal,
      let status = try loader.directory.status(of: StoreFile.journal),
      status.isSameFile(as: view.identity)
    else {
      // Compacted, rotated or replaced by another process; or broken, and perhaps mended.
      try reload(with: loader)
      return
    }
    if view.damage != nil {
      // Read anew as a whole when anything happened to it; what was read before does not count.
      if status.byteCount != view.fileByteCount { try reload(with: loader) }
      return
    }
    guard status.byteCount >= view.end.byteCount else { return try reload(with: loader) }
    if isWriting { return }
    if status.byteCount == view.fileByteCount, try view.isSameBehindEnd() { return }
    // The mark first, then the length: so the mark is never ahead of what is read.
    let mark = try loader.mark(of: view.head.journal, keys: keys)
    let byteCount = try view.file.status().byteCount
    do throws(StoreError) {
      try view.extend(to: byteCount, confirmed: mark.map { [$0.position] } ?? [], keys: keys)
    } catch {
      // Some of what it read before the error may be in its index, and may not count.
      journal = .unusable(error)
      throw error
    }
    // Believed when it is seen twice: another process may have been at work.
    if view.damage != nil { try reload(with: loader) }
  }

  /// Takes the header that is on disk now, whose slots another process may have changed.
  ///
  /// - Throws: `corrupt` when it is not the journal's, `unsafePermissions`, `accessDenied` or
  ///   `io`.
  mutating func refreshHeader(from loader: StoreLoader) throws(StoreError) {
    let path = loader.directory.path
    let onDisk = try HeaderFiles(directory: loader.directory).read().header
    let opened = try StoreUnlocking.open(onDisk, by: .keys(keys), path: path)
    guard try usableJournal().head.belongs(to: onDisk, opened.keys) else {
      throw StoreError(
        StoreError.corrupt, store: path, reason: "the journal does not belong to the header",
        remedy: "Put header and header.copy back from a backup")
    }
    header = onDisk
  }

  /// Reads everything anew with the keys there are.
  ///
  /// - Throws: As ``StoreLoader/load(by:slot:)``.
  mutating func reload(with loader: StoreLoader) throws(StoreError) {
    self = try loader.load(by: .keys(keys), slot: slot)
  }

  /// The journal, when it can be read.
  ///
  /// - Throws: `corrupt` or `unsupportedVersion`.
  func usableJournal() throws(StoreError) -> JournalView {
    switch journal {
    case .usable(let view): return view
    case .unusable(let error): throw error
    }
  }

  /// The journal, when it can be written and listed.
  ///
  /// - Throws: `corrupt` or `unsupportedVersion`.
  func soundJournal(path: String) throws(StoreError) -> JournalView {
    let view = try usableJournal()
    if let damage = view.damage { throw damage.error(path: path) }
    return view
  }
}
