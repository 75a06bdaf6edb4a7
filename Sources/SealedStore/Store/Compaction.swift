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
    let (header, keys, oldByteCount) = try withState { open throws(StoreError) in
      let view = try open.usableJournal()
      open.keys.beginUse()
      return (open.header, open.keys, view.end.byteCount)
    }
    defer { keys.endUse() }
    let view = try rewriteJournal(store: header.store, keys: keys, progress: progress)
    try install(view)
    writeMark(
      Mark(journal: view.head.journal, position: view.end), chainKey: keys.chainKey, &writer)
    withStateIfOpen { $0.journal = .success(view) }
    return oldByteCount - view.end.byteCount
  }

  /// Writes all items into `journal.next`, sealed with the given keys, and syncs it.
  func rewriteJournal(
    store: StoreIdentifier, keys: KeyRing, progress: StoreProgress?
  ) throws(StoreError) -> JournalView {
    do throws(StoreError) {
      var rewriter = try JournalRewriter(
        try directory.create(StoreDirectory.File.journalNext), store: store, keys: keys,
        random: environment.random)
      try forEachItem(progress: progress) { record, _ throws(StoreError) in
        try rewriter.add(record)
      }
      return try rewriter.finish()
    } catch {
      directory.discard(StoreDirectory.File.journalNext)
      throw error
    }
  }

  /// Puts `journal.next` in the journal's place: the moment at which it counts.
  func install(_ view: JournalView) throws(StoreError) {
    do throws(StoreError) {
      try directory.rename(StoreDirectory.File.journalNext, to: StoreDirectory.File.journal)
      view.isNameDurable = true
    } catch {
      if error.code == StoreError.outcomeUnknown {
        // Either journal may be the one after a crash; both say the same. Look again.
        withStateIfOpen { $0.journal = .failure(error) }
      } else {
        directory.discard(StoreDirectory.File.journalNext)
      }
      throw error
    }
  }
}
