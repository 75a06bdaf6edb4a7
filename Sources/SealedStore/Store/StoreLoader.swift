import SecretStores

/// A loader that reads a store from its directory.
///
/// It is a class because every read passes it on.
final class StoreLoader: Sendable {
  let directory: PrivateDirectory
  let options: SealedFileStore.Options
  let environment: StoreEnvironment

  init(
    _ directory: PrivateDirectory, _ options: SealedFileStore.Options,
    _ environment: StoreEnvironment
  ) {
    self.directory = directory
    self.options = options
    self.environment = environment
  }

  /// Reads header, mark and journal, finds the keys, and recovers what is behind the mark.
  ///
  /// A journal that cannot be used is not an error here: the state has it as unusable, so that the
  /// store can be verified and repaired.
  ///
  /// - Parameters:
  ///   - search: The search for the keys, which keeps those that were found.
  ///   - hold: The caller's hold of the writer's lock.
  ///   - last: The store as it was last seen.
  /// - Returns: The state of an unlocked store; `nil` when that needs the writer's lock, or the
  ///   source while it may not be asked.
  /// - Throws: `unavailable`, `wrongKey`, `corrupt`, `unsupportedVersion`,
  ///   `unsafePermissions`, `accessDenied`, `io`, `timedOut` when others replace the files faster
  ///   than they can be read, or an error of a key source.
  func load(
    _ search: inout KeySearch, holding hold: WriterHold, after last: LastSeen
  ) throws(StoreError) -> OpenState? {
    let deadline = ContinuousClock.now + environment.readingPatience
    while true {
      let (header, isFromCopy) = try HeaderFiles(directory: directory).read()
      let opened: Result<KeyRing, StoreError>
      do throws(StoreError) {
        let found = try StoreUnlocking.open(header, by: search.means, path: directory.path)
        opened = .success(found.keys)
        search.slot = found.slot ?? search.slot
        // A passphrase is not stretched again when the files must be read again.
        search.means = .keys(found.keys)
      } catch let error where error.code == .wrongKey {
        switch (search.means, search.source) {
        case (.keys, .source):
          // A revocation ended after the source was asked.
          guard search.mayAsk else { return nil }
          search.means = search.source
          continue
        // Keys that were in use may be those of a revocation that is not finished.
        case (.keys, .keys): opened = .failure(error)
        case (.source, _): throw error
        }
      }

      let files = try openFiles()
      var state: OpenState
      switch try stateOfPendingRotation(header, opened, files, &search, last) {
      case .pending(let pending): state = pending
      case .needsSource: return nil
      case .noRotation:
        let keys = try opened.get()
        state = OpenState(
          header: header, keys: keys, slot: search.slot,
          journal: try view(of: files, header: header, keys: keys, after: last), mark: files.mark)
        state.isHeaderFromCopy = isFromCopy
      }
      if state.isInDoubt {
        // A change, a rotation or a compaction can fall between any two of these reads.
        if try isCurrent(header, files) {
          // While others may write, something may only seem wrong: look again with the lock.
          if hold == .none { return nil }
          state.furthest = last.furthest
          return state
        }
      } else if try recover(&state, holding: hold, after: last) {
        return state
      } else if hold == .none {
        return nil
      }
      guard ContinuousClock.now < deadline else {
        throw StoreError(
          .timedOut, store: directory.path,
          reason: "other processes replace its files faster than they can be read",
          remedy: "Try again")
      }
    }
  }

  /// Opens a store, with the writer's lock if something must be recovered first.
  ///
  /// - Throws: As ``load(_:holding:after:)``, and `timedOut` when another process holds the lock
  ///   for too long.
  func open(by source: StoreUnlocking.Means) throws(StoreError) -> OpenState {
    var search = KeySearch(by: source)
    var last = LastSeen()
    let lock = LockFile(directory)
    while true {
      let seen = try markBytes()
      if let state = try load(&search, holding: .none, after: last) { return state }
      // A source may take long, and may ask a person: others must not wait for that. If it is
      // needed again, because the keys were replaced meanwhile, the next round asks it.
      search.mayAsk = false
      let state = try whileRecovering(with: lock, unlessMarkIsNot: seen) {
        hold throws(StoreError) in try load(&search, holding: hold, after: LastSeen())
      }
      search.mayAsk = true
      if let state { return state }
      last.mark = seen
    }
  }

  /// Runs a closure with the writer's lock, which is exclusive if the store can be written.
  ///
  /// It does not run the closure when the mark changes while another process holds the lock: that
  /// process has recovered everything before it wrote the mark.
  ///
  /// - Throws: `timedOut`, `io`, or an error of the closure.
  func whileRecovering<Result>(
    with lock: LockFile, unlessMarkIsNot seen: [UInt8]?,
    _ body: (WriterHold) throws(StoreError) -> Result?
  ) throws(StoreError) -> Result? {
    let isNeedless = { () throws(StoreError) in try self.markBytes() != seen }
    let byte = LockFile.writerByte
    var hold = WriterHold.exclusive
    let held: LockFile.Held?
    do throws(StoreError) {
      held = try lock.lock(byte: byte, timeout: options.lockTimeout, unless: isNeedless)
    } catch let error
      where error.code == .accessDenied || error.code == .noSpace
    {
      hold = .shared
      held = try lock.lockShared(
        byte: byte, timeout: options.lockTimeout, unless: isNeedless)
    }
    guard let held else { return nil }
    defer { held.unlock() }
    return try body(hold)
  }

  /// Reads the bytes of the mark, whatever they are.
  ///
  /// - Throws: `unsafePermissions`, `accessDenied` or `io`.
  func markBytes() throws(StoreError) -> [UInt8]? {
    try directory.read(StoreFile.mark, maximumByteCount: Mark.byteCount).map {
      $0.content.bytes(0..<$0.byteCount)
    }
  }

  /// Returns whether the files are still those that were read.
  private func isCurrent(_ header: Header, _ files: FoundFiles) throws(StoreError) -> Bool {
    guard try HeaderFiles(directory: directory).read().header == header else { return false }
    let mark = try directory.status(of: StoreFile.mark)
    if let open = files.mark {
      guard open.isSameFile(as: mark), try open.isUnchanged() else { return false }
    } else if mark?.byteCount == Mark.byteCount {
      return false
    }
    guard case .success(let found) = files.journal else { return true }
    let status = try directory.status(of: StoreFile.journal)
    return try status?.isSameFile(as: found.file.status()) == true
  }

  private struct FoundFiles {
    /// The mark, which is read first so that it is never ahead of the journal that is read.
    let mark: OpenMark?
    let journal: Result<FoundJournal, StoreError>
  }

  private struct FoundJournal {
    let file: OpenFile
    let head: JournalHead
  }

  private func openFiles() throws(StoreError) -> FoundFiles {
    let mark = try openForWritingIfPossible(StoreFile.mark)
    let openMark = if let mark { try OpenMark(mark) } else { nil as OpenMark? }
    return FoundFiles(mark: openMark, journal: try openJournal())
  }

  /// Opens a file for writing, or for reading: a store on a read-only file system can be read.
  private func openForWritingIfPossible(_ name: String) throws(StoreError) -> OpenFile? {
    do throws(StoreError) {
      return try directory.open(name, .readWrite)
    } catch let error where error.code == .accessDenied {
      return try directory.open(name, .read, after: error)
    }
  }

  private func openJournal() throws(StoreError) -> Result<FoundJournal, StoreError> {
    guard let file = try openForWritingIfPossible(StoreFile.journal) else {
      return .failure(beyondRepair("the journal is missing"))
    }
    let buffer = ByteBuffer(byteCount: JournalHead.byteCount)
    let byteCount = try file.read(at: 0, into: buffer, 0..<buffer.byteCount)
    guard byteCount == buffer.byteCount else {
      return .failure(beyondRepair("the journal is cut off"))
    }
    guard let head = JournalHead(buffer) else {
      return .failure(corrupt("the journal's head was changed"))
    }
    return .success(FoundJournal(file: file, head: head))
  }

  private func view(
    of files: FoundFiles, header: Header, keys: KeyRing, after last: LastSeen
  ) throws(StoreError) -> OpenState.Journal {
    let found: FoundJournal
    switch files.journal {
    case .success(let journal): found = journal
    case .failure(let error): return .unusable(error)
    }
    guard found.head.belongs(to: header, keys) else {
      return .unusable(corrupt("the journal does not belong to the header"))
    }
    guard found.head.formatVersion == JournalHead.formatVersion else {
      return .unusable(
        StoreError(
          .unsupportedVersion, store: directory.path,
          reason: "the journal has format version \(found.head.formatVersion)",
          remedy: "Use a newer version of the program"))
    }
    let view = JournalView(
      found.file, identity: try found.file.status(), head: found.head,
      anchors: try anchors(of: found.head), seen: last.positions(in: found.head.journal))
    try walk(view, to: files.mark, keys: keys)
    return .usable(view)
  }

  /// Walks to the position in the mark; a journal that does not reach it is damaged.
  private func walk(
    _ view: JournalView, to open: OpenMark?, keys: KeyRing
  ) throws(StoreError) {
    let mark = open.flatMap { Mark($0.seen, chainKey: keys.chainKey) }
    let head = view.head
    if let mark, mark.journal == head.journal {
      // Changes that were written after the mark was read do not count yet.
      guard let found = try view.advance(to: .mark(mark), keys: keys) else { return }
      let behind = try BrokenPart(view: view, journalBreak: found, mark: mark, keys: keys).tags()
      view.damage = Damage(found.reason, at: found.position.byteCount, tagsBehind: behind)
    } else if let open, open.digest == head.predecessor {
      guard let found = try view.advance(to: .firstChange, keys: keys) else { return }
      view.damage = Damage(found.reason, at: found.position.byteCount)
    } else {
      // This is for a repair, which takes the part that the chain confirms.
      _ = try view.advance(to: .lastChange, keys: keys)
      view.damage =
        open == nil ? .markMissing : mark == nil ? .markChanged : .markOfAnotherJournal
    }
  }

  private enum PendingRotation {
    case noRotation
    case pending(OpenState)
    /// Its keys can only be found with the source, which may not be asked now.
    case needsSource
  }

  /// Returns the state if the journal belongs to `header.next`.
  private func stateOfPendingRotation(
    _ header: Header, _ opened: Result<KeyRing, StoreError>, _ files: FoundFiles,
    _ search: inout KeySearch, _ last: LastSeen
  ) throws(StoreError) -> PendingRotation {
    guard case .success(let journal) = files.journal else { return .noRotation }
    var means: [StoreUnlocking.Means] = []
    if case .success(let keys) = opened {
      if journal.head.belongs(to: header, keys) { return .noRotation }
      means = [.keys(keys)]
    }
    let content = try HeaderFiles(directory: directory).content(of: StoreFile.headerNext)
    guard let next = content.header, next.store == header.store else { return .noRotation }
    if let keys = search.keysOfNext { means.append(.keys(keys)) }
    if search.mayAsk { means.append(search.source) }
    guard let found = try open(next, byFirstOf: means, orElse: !search.mayAsk) else {
      return .needsSource
    }
    // The source is not asked once more when the files must be read again.
    search.keysOfNext = found.keys
    guard journal.head.belongs(to: next, found.keys) else { return .noRotation }
    var state = OpenState(
      header: next, keys: found.keys, slot: search.slot,
      journal: try view(of: files, header: next, keys: found.keys, after: last),
      mark: files.mark)
    state.isRotationPending = true
    return .pending(state)
  }

  /// Opens the next header by the first of some means.
  ///
  /// After a rotation the old keys open it, after a revocation only a slot does.
  ///
  /// - Returns: The keys; `nil` when none of the means opens it, and there are other means.
  private func open(
    _ next: Header, byFirstOf means: [StoreUnlocking.Means], orElse hasOther: Bool
  ) throws(StoreError) -> (keys: KeyRing, slot: Int?)? {
    var means = means[...]
    while let first = means.popFirst() {
      do throws(StoreError) {
        return try StoreUnlocking.open(next, by: first, path: directory.path)
      } catch let error where error.code == .wrongKey {
        if means.isEmpty && !hasOther { throw error }
      }
    }
    return nil
  }

  /// Returns the error for a store in which nothing is left.
  func beyondRepair(_ reason: String) -> StoreError {
    StoreError(
      .corrupt, store: directory.path, reason: "\(reason), so there is nothing to repair",
      remedy: "Put the store's directory back from a backup")
  }

  func corrupt(_ reason: String) -> StoreError {
    StoreError(
      .corrupt, store: directory.path, reason: reason,
      remedy: "Make a copy of the store's directory, then run session-tools verify and repair")
  }
}

/// A search for the keys of a store, with the keys that were found so far.
struct KeySearch {
  /// The means of the caller.
  let source: StoreUnlocking.Means
  /// The means that are tried first.
  var means: StoreUnlocking.Means
  /// The number of the slot that opened.
  var slot: Int?
  /// Whether the source may be asked: not while the writer's lock is held.
  var mayAsk = true
  /// The keys of a header that a rotation has not installed yet, once they are found.
  var keysOfNext: KeyRing?

  init(by source: StoreUnlocking.Means, slot: Int? = nil) {
    self.source = source
    means = source
    self.slot = slot
  }
}

/// A store as it was last seen, before it is read again.
struct LastSeen {
  /// The furthest mark that was seen.
  var furthest: Mark?
  /// The bytes of the mark that was seen last.
  var mark: [UInt8]?

  /// Returns the positions that a journal must pass.
  func positions(in journal: JournalIdentifier) -> ExpectedPositions {
    ExpectedPositions([furthest].compactMap(\.self).filter { $0.journal == journal })
  }

  /// Returns whether a store with this mark did not go back, judged by the version: two journals
  /// have nothing else to compare.
  func accepts(_ mark: Mark) -> Bool { furthest.map { mark.version >= $0.version } ?? true }
}

extension JournalHead {
  /// Returns whether the journal was made for a header, by a holder of its keys.
  func belongs(to header: Header, _ keys: KeyRing) -> Bool {
    store == header.store && isChained(by: keys.chainKey)
  }
}
