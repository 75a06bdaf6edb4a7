public import SessionToolsBase

extension SealedFileStore {
  /// A journal is compacted when it has more superseded bytes than this, and than live ones.
  static let smallestDeadByteCount = 1 << 20

  /// Rewrites the journal without what was superseded or removed.
  ///
  /// Happens by itself when more than half of the journal, and more than 1 MiB, is of no more
  /// use. Other processes go on reading the old file until they see the new one.
  ///
  /// - Returns: The bytes that were freed.
  /// - Throws: `locked`, `timedOut`, `corrupt` when any live record cannot be opened, `noSpace`,
  ///   and nothing was changed; `outcomeUnknown`, `accessDenied` or `io`.
  @discardableResult
  public func compact(progress: StoreProgress? = nil) throws(StoreError) -> Int {
    try writing { writer throws(StoreError) in
      try self.compact(&writer, progress: progress)
    }
  }

  /// Compacts when it is worth it.
  ///
  /// What was asked for has been done by then, so a failure here is only told of.
  func compactIfDue(_ writer: inout WriterState) {
    do throws(StoreError) {
      let tried = writer.compactionTriedAt
      let (isDue, byteCount) = try withState { open throws(StoreError) in
        let view = try open.usableJournal()
        let isDue = view.deadByteCount > max(Self.smallestDeadByteCount, view.live.byteCount)
        // What failed is tried again when there is as much more to gain, not at every change.
        return (
          isDue && view.end.byteCount >= tried + Self.smallestDeadByteCount, view.end.byteCount
        )
      }
      guard isDue else { return }
      writer.compactionTriedAt = byteCount
      try compact(&writer, progress: nil)
      writer.compactionTriedAt = 0
    } catch {
      options.onNotice?(.compactionFailed(error.reason))
    }
  }

  @discardableResult
  private func compact(
    _ writer: inout WriterState, progress: StoreProgress?
  ) throws(StoreError) -> Int {
    let (header, keys, old) = try withState { open throws(StoreError) in
      let view = try open.usableJournal()
      open.keys.beginUse()
      return (open.header, open.keys, view.mark)
    }
    defer { keys.endUse() }
    // Until the new journal has a mark of its own, this is what says that it belongs here.
    try writeDurableMark(old, chainKey: keys.chainKey, &writer)
    let view = try rewriteJournal(
      as: old.successor(chainKey: keys.chainKey), store: header.store, keys: keys,
      progress: progress)
    try install(view, after: old)
    tellConfirmed(view.mark, of: header.store, keys, &writer)
    take(view)
    return old.position.byteCount - view.end.byteCount
  }

  /// Writes all items into `journal.next`, sealed with the given keys, and syncs it.
  func rewriteJournal(
    as journal: JournalIdentifier, store: StoreIdentifier, keys: KeyRing,
    progress: StoreProgress?
  ) throws(StoreError) -> JournalView {
    do throws(StoreError) {
      var rewriter = try JournalRewriter(
        try directory.create(StoreFile.journalNext), journal: journal, store: store,
        keys: keys, random: environment.random)
      try forEachItem(progress: progress) { record, _ throws(StoreError) in
        try rewriter.add(record)
      }
      return try rewriter.finish()
    } catch {
      directory.discard(StoreFile.journalNext)
      throw error
    }
  }

  /// Puts `journal.next` in the journal's place: the moment at which it counts.
  ///
  /// If that worked, readers of this process are to be given the new one, by ``take(_:)`` or with keys
  /// of its own.
  ///
  /// - Parameters:
  ///   - view: The new journal.
  ///   - old: Where the old one ends, if it has an end to rely on.
  /// - Throws: `noSpace`, `accessDenied`, `io`, or what the anchor's keeper throws, and nothing
  ///   was changed; `outcomeUnknown`.
  func install(_ view: JournalView, after old: Mark?) throws(StoreError) {
    do throws(StoreError) {
      // Whichever of the two is there after a crash, it is anchored.
      let marks = [old, view.mark].compactMap(\.self)
      try options.anchor?.keep(StoreAnchor(store: view.head.store, marks: marks), path: path)
      withStateIfOpen { $0.isReplacingJournal = true }
      try directory.rename(StoreFile.journalNext, to: StoreFile.journal)
      view.isNameDurable = true
    } catch {
      let isUnknown = error.code == StoreError.outcomeUnknown
      withStateIfOpen { open in
        open.isReplacingJournal = false
        // Either journal may be the one after a crash; both say the same. Look again.
        if isUnknown { open.journal = .unusable(error) }
      }
      if !isUnknown { directory.discard(StoreFile.journalNext) }
      throw error
    }
  }

  /// Gives a journal that was installed to readers of this process.
  func take(_ view: JournalView) {
    withStateIfOpen { open in
      open.journal = .usable(view)
      open.isReplacingJournal = false
    }
  }
}
