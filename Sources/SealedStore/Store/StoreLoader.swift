import SessionToolsBase

/// Reads a store from its directory.
struct StoreLoader {
  let directory: PrivateDirectory
  private let anchor: StoreAnchor.Keeper?
  private let patience: Duration

  init(
    _ directory: PrivateDirectory, _ options: SealedFileStore.Options,
    _ environment: StoreEnvironment
  ) {
    self.directory = directory
    anchor = options.anchor
    patience = environment.readingPatience
  }

  /// Reads header, mark and journal, and finds the keys.
  ///
  /// A journal that cannot be used is no error here: it is noted, so that the store can be
  /// verified and repaired.
  ///
  /// - Parameters:
  ///   - source: Where the keys come from.
  ///   - slot: The slot that opened the store before, to be kept.
  /// - Returns: What an unlocked store knows.
  /// - Throws: `unavailable`, `wrongKey`, `corrupt`, `unsupportedVersion`,
  ///   `unsafePermissions`, `accessDenied`, `io`, `timedOut` when others replace the files faster
  ///   than they can be read, or what a key source throws.
  func load(by source: StoreUnlocking.Means, slot: Int? = nil) throws(StoreError) -> OpenState {
    let deadline = ContinuousClock.now + patience
    var means = source
    var slot = slot
    while true {
      let (header, isFromCopy) = try HeaderFiles(directory: directory).read()
      let opened: Result<KeyRing, StoreError>
      do throws(StoreError) {
        let found = try StoreUnlocking.open(header, by: means, path: directory.path)
        opened = .success(found.keys)
        slot = found.slot ?? slot
        // A passphrase is not stretched again when the files have to be read again.
        means = .keys(found.keys)
      } catch let error where error.code == StoreError.wrongKey {
        switch (means, source) {
        case (.keys, .source):
          // A revocation ended since the source was asked.
          means = source
          continue
        // Keys that were in use may be those of a revocation that is not finished.
        case (.keys, .keys): opened = .failure(error)
        case (.source, _): throw error
        }
      }

      let journal = try openJournal()
      var state: OpenState
      if let pending = try stateOfPendingRotation(
        header, opened, journal, source: source, slot: slot)
      {
        state = pending
      } else {
        let keys = try opened.get()
        state = OpenState(
          header: header, keys: keys, slot: slot,
          journal: try view(of: journal, header: header, keys: keys))
        state.isHeaderFromCopy = isFromCopy
      }
      // A rotation or a compaction can fall between any two of these reads.
      guard state.isInDoubt, try !isCurrent(header, journal) else { return state }
      guard ContinuousClock.now < deadline else {
        throw StoreError(
          StoreError.timedOut, store: directory.path,
          reason: "other processes replace its files faster than they can be read",
          remedy: "Try again")
      }
    }
  }

  /// Whether header and journal are still those that were read.
  private func isCurrent(
    _ header: Header, _ journal: Result<FoundJournal, StoreError>
  ) throws(StoreError) -> Bool {
    guard try HeaderFiles(directory: directory).read().header == header else { return false }
    guard case .success(let found) = journal else { return true }
    let status = try directory.status(of: StoreFile.journal)
    return try status?.isSameFile(as: found.file.status()) == true
  }

  /// The mark, if there is one that the keys made for this journal.
  ///
  /// - Throws: `unsafePermissions`, `accessDenied` or `io`.
  func mark(of journal: JournalIdentifier, keys: KeyRing) throws(StoreError) -> Mark? {
    guard let mark = try mark(keys: keys), mark.journal == journal else { return nil }
    return mark
  }

  /// Whether a mark stands beside a journal that a writer left there: it is the journal's, or
  /// that of the journal before, whose place was taken from exactly there.
  private func isRightful(_ mark: Mark?, beside journal: JournalIdentifier, keys: KeyRing) -> Bool {
    guard let mark, mark.journal != journal else { return true }
    return mark.successor(chainKey: keys.chainKey) == journal
  }

  /// The mark, if there is one that the keys made for any journal.
  ///
  /// - Throws: `unsafePermissions`, `accessDenied` or `io`.
  func mark(keys: KeyRing) throws(StoreError) -> Mark? {
    guard
      let (content, byteCount) = try directory.read(
        StoreFile.mark, largestByteCount: Mark.byteCount),
      byteCount == Mark.byteCount
    else { return nil }
    return Mark(content, chainKey: keys.chainKey)
  }

  private struct FoundJournal {
    let file: OpenFile
    let head: JournalHead
  }

  /// A store on a read-only file system can be read.
  private func openForWritingIfPossible(_ name: String) throws(StoreError) -> OpenFile? {
    do throws(StoreError) {
      return try directory.open(name, .readWrite)
    } catch let error where error.code == StoreError.accessDenied {
      return try directory.open(name, .read)
    }
  }

  private func openJournal() throws(StoreError) -> Result<FoundJournal, StoreError> {
    guard let file = try openForWritingIfPossible(StoreFile.journal) else {
      return .failure(corrupt("the journal is missing"))
    }
    let buffer = ByteBuffer(byteCount: JournalHead.byteCount)
    let byteCount = try file.read(at: 0, into: buffer, 0..<buffer.byteCount)
    guard byteCount == buffer.byteCount, let head = JournalHead(buffer) else {
      return .failure(corrupt("the journal's head was changed"))
    }
    return .success(FoundJournal(file: file, head: head))
  }

  private func view(
    of journal: Result<FoundJournal, StoreError>, header: Header, keys: KeyRing
  ) throws(StoreError) -> OpenState.Journal {
    let found: FoundJournal
    switch journal {
    case .success(let journal): found = journal
    case .failure(let error): return .unusable(error)
    }
    guard found.head.belongs(to: header, keys) else {
      return .unusable(corrupt("the journal does not belong to the header"))
    }
    guard found.head.version == JournalHead.formatVersion else {
      return .unusable(
        StoreError(
          StoreError.unsupportedVersion, store: directory.path,
          reason: "the journal has format version \(found.head.version)",
          remedy: "Use a newer version of the program"))
    }
    var view = try look(at: found, keys: keys)
    // While it is looked at, other processes may write: damage is believed when it is seen twice,
    // with nothing written behind the same end meanwhile.
    let deadline = ContinuousClock.now + patience
    while view.damage != nil, ContinuousClock.now < deadline {
      let before = view
      view = try look(at: found, keys: keys)
      if view.hasSameEnd(as: before) { break }
    }
    return .usable(view)
  }

  private func look(at found: FoundJournal, keys: KeyRing) throws(StoreError) -> JournalView {
    let journal = found.head.journal
    // What was confirmed first, then the length: so it is never ahead of what is read.
    let mark = try mark(keys: keys)
    let anchor = try anchor?.anchor(path: directory.path)
    let status = try found.file.status()
    let view = JournalView(found.file, identity: status, head: found.head)
    view.hasMark = mark != nil
    let confirmed = ([mark].compactMap(\.self) + (anchor?.marks ?? []))
      .filter { $0.journal == journal }.map(\.position)
    try view.extend(to: status.byteCount, confirmed: confirmed, keys: keys)
    let isAnchored = anchor.map { anchor in
      anchor.store == found.head.store && anchor.marks.contains { $0.journal == journal }
    }
    if !isRightful(mark, beside: journal, keys: keys) || isAnchored == false {
      view.damage = .putBack
    }
    return view
  }

  /// The state when the journal belongs to `header.next`; `nil` when it does not.
  private func stateOfPendingRotation(
    _ header: Header, _ opened: Result<KeyRing, StoreError>,
    _ journal: Result<FoundJournal, StoreError>, source: StoreUnlocking.Means, slot: Int?
  ) throws(StoreError) -> OpenState? {
    guard case .success(let journal) = journal else { return nil }
    var means = [source]
    if case .success(let keys) = opened {
      if journal.head.belongs(to: header, keys) { return nil }
      means = [.keys(keys), source]
    }
    let content = try HeaderFiles(directory: directory).content(of: StoreFile.headerNext)
    guard let next = content.header, next.store == header.store else { return nil }
    let found = try open(next, byFirstOf: means)
    guard journal.head.belongs(to: next, found.keys) else { return nil }
    var state = OpenState(
      header: next, keys: found.keys, slot: slot,
      journal: try view(of: .success(journal), header: next, keys: found.keys))
    state.isRotationPending = true
    return state
  }

  /// After a rotation the old keys open the next header, after a revocation only a slot does.
  private func open(
    _ next: Header, byFirstOf means: [StoreUnlocking.Means]
  ) throws(StoreError) -> (keys: KeyRing, slot: Int?) {
    var means = means[...]
    while true {
      let first = means.removeFirst()
      do throws(StoreError) {
        return try StoreUnlocking.open(next, by: first, path: directory.path)
      } catch let error where error.code == StoreError.wrongKey && !means.isEmpty {
        continue
      }
    }
  }

  private func corrupt(_ reason: String) -> StoreError {
    StoreError(
      StoreError.corrupt, store: directory.path, reason: reason,
      remedy: "Make a copy of the store's directory, then run session-tools verify and repair")
  }
}

extension JournalHead {
  /// Whether the journal was made for a header, by a holder of its keys.
  func belongs(to header: Header, _ keys: KeyRing) -> Bool {
    store == header.store && isChained(by: keys.chainKey)
  }
}
