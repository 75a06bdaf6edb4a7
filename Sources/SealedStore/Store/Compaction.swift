import Dispatch
public import SecretStores
import Synchronization

extension SealedFileStore {
  /// The numbers of superseded bytes above which a journal is compacted automatically.
  enum CompactionLimit {
    /// The limit after ``changeCount`` changes.
    static let deadByteCount = 1 << 20
    /// The number of changes from which on the lower limit applies.
    static let changeCount = 1000
    /// The limit after any number of changes.
    static let maximumDeadByteCount = 16 << 20
    /// The limit when the store is locked.
    static let deadByteCountWhenLocking = 256 << 10
  }

  /// Rewrites the journal without superseded and removed records.
  ///
  /// Until then, a value that was removed or replaced stays readable for anyone who has the store's
  /// key. The journal is compacted automatically when superseded and removed records take more than
  /// half of it and more than 16 MiB, or more than 1 MiB after 1,000 changes; 256 KiB are enough
  /// when the store is locked. A smaller store is never compacted automatically.
  ///
  /// Blocks the thread until everything is written: 0.4 s for 100,000 items of 512 bytes. Changes
  /// by others wait meanwhile, in other processes for ``Options/lockTimeout`` at most. Reads
  /// continue.
  ///
  /// - Returns: The number of bytes that were freed.
  /// - Throws: `locked`, `timedOut`, `corrupt` when a live record cannot be opened, or `noSpace`,
  ///   and nothing was changed; `outcomeUnknown`, `accessDenied` or `io`.
  @discardableResult
  public func compact(progress: Progress? = nil) throws(StoreError) -> Int {
    try writing { writer throws(StoreError) in
      try writer.rewrite(progress: progress)
    }
  }

  /// Returns whether the journal should be compacted after a change.
  ///
  /// Call it only under the lock of the state.
  func isCompactionDue(afterChangeOf view: JournalView) -> Bool {
    let dead = view.deadByteCount
    let isWorthIt =
      dead > CompactionLimit.maximumDeadByteCount
      || dead > CompactionLimit.deadByteCount && view.changeCount >= CompactionLimit.changeCount
    return isWorthIt && isMostlyDead(view)
  }

  /// Compacts on another thread: the change that led to it returns first.
  func compactLater() {
    compaction.schedule { [weak self] in
      self?.compactByItself(timeout: nil) { view in
        view.deadByteCount > CompactionLimit.deadByteCount
      }
    }
  }

  /// Waits until each compaction that changes led to so far has ended, for tests.
  package func waitForCompaction() { compaction.wait() }

  /// Compacts even for a small gain, before the keys are wiped.
  ///
  /// This does nothing while another thread or process writes: locking does not wait for it.
  func compactBeforeLocking() {
    let isDue = isCompactionDue { view in
      view.deadByteCount > CompactionLimit.deadByteCountWhenLocking
    }
    if isDue { compactByItself(timeout: .zero) { _ in true } }
  }

  private func isCompactionDue(_ isWorthIt: (JournalView) -> Bool) -> Bool {
    state.withLock { slot in
      guard let slot, case .usable(let view) = slot.journal, view.damage == nil else {
        return false
      }
      return isWorthIt(view) && isMostlyDead(view)
    }
  }

  /// Returns whether most of a journal is superseded, and a compaction has not just failed: it is
  /// tried again when the journal has grown, not at every change.
  private func isMostlyDead(_ view: JournalView) -> Bool {
    view.deadByteCount > view.live.byteCount
      && view.end.byteCount
        >= compaction.triedByteCount + CompactionLimit.deadByteCountWhenLocking
  }

  /// Compacts automatically.
  ///
  /// The operation of the caller is done by then, so a failure here is only a notice.
  private func compactByItself(
    timeout: Duration?, _ isWorthIt: (JournalView) -> Bool
  ) {
    do throws(StoreError) {
      try writing(timeout: timeout) { writer throws(StoreError) in
        // Another thread or process may have done it by now.
        guard isCompactionDue(isWorthIt) else { return }
        try writer.rewrite(progress: nil)
      }
      compaction.triedByteCount = 0
    } catch {
      // A store that was locked or damaged meanwhile is compacted after it was opened again.
      compaction.triedByteCount =
        (try? withState { open throws(StoreError) in
          try open.usableJournal().end.byteCount
        }) ?? 0
      if error.code != .locked, error.code != .timedOut {
        options.onNotice?(.compactionFailed(error.reason))
      }
    }
  }
}

extension StoreWriter {
  @discardableResult
  fileprivate func rewrite(progress: SealedFileStore.Progress?) throws(StoreError) -> Int {
    let (header, keys, old) = try store.withState { open throws(StoreError) in
      let view = try open.usableJournal()
      open.keys.beginUse()
      return (open.header, open.keys, view.mark)
    }
    defer { keys.endUse() }
    let view = try rewriteJournal(
      after: try durableMark(), version: old.version, store: header.store, keys: keys,
      progress: progress)
    let newByteCount = view.end.byteCount
    try install(view, after: old)
    try confirm(view, keys: keys) { $0.take(view) }
    // A journal that replaces another has a change even when the store is empty.
    return max(0, old.byteCount - newByteCount)
  }

  /// Makes the mark of the journal durable, which it must be before another journal replaces it.
  ///
  /// - Returns: The digest of the mark, for the head of the other journal.
  /// - Throws: `locked`, `noSpace`, `accessDenied` or `io`; no item is changed.
  func durableMark() throws(StoreError) -> MarkDigest {
    let (file, bytes, digest) = try store.withState { open throws(StoreError) in
      let view = try open.usableJournal()
      guard let mark = open.mark else { throw loader.corrupt("the mark is missing") }
      // The journal may not have a mark of its own yet.
      mark.take(view.mark, chainKey: open.keys.chainKey)
      return (mark.file, mark.seenBytes, mark.digest)
    }
    try OpenMark.writeDurably(bytes, to: file)
    return digest
  }

  /// Writes all items into `journal.next`, sealed with the given keys, and syncs it.
  ///
  /// - Parameters:
  ///   - predecessor: The mark of the journal that it replaces.
  ///   - version: The number of changes made to the store.
  ///   - store: The store's identifier.
  ///   - keys: The keys that seal the new journal.
  ///   - progress: Called after every few items.
  /// - Returns: The view that a reader of the journal would have.
  /// - Throws: As ``writeJournal(_:of:and:of:head:keys:progress:)``, and `locked`.
  func rewriteJournal(
    after predecessor: MarkDigest, version: UInt64, store: StoreIdentifier, keys: KeyRing,
    progress: SealedFileStore.Progress?
  ) throws(StoreError) -> JournalView {
    let (file, journal, oldKeys, entries) = try self.store.withState { open throws(StoreError) in
      let view = try open.soundJournal(in: directory)
      open.keys.beginUse()
      return (view.file, view.head.journal, open.keys, view.index.entries)
    }
    defer { oldKeys.endUse() }
    return try writeJournal(
      entries, of: ItemReader(file, journal: journal, keys: oldKeys, .both),
      head: JournalHead(
        store: store, journal: JournalIdentifier(bytes: environment.random.bytes16()),
        version: version, predecessor: predecessor, chainKey: keys.chainKey),
      keys: keys, progress: progress)
  }

  /// Writes items into `journal.next`, and syncs it.
  ///
  /// - Parameters:
  ///   - entries: The records of the items.
  ///   - reader: A reader of whole records.
  ///   - nameless: Further records, whose names do not open, with the names to use.
  ///   - valueReader: A reader of values.
  ///   - head: The head of the journal.
  ///   - keys: The keys that seal the journal.
  ///   - progress: Called after every few items.
  /// - Returns: The view that a reader of the journal would have.
  /// - Throws: `corrupt` when an item does not open, `noSpace`, `accessDenied` or `io`.
  func writeJournal(
    _ entries: [ItemIndex.Entry], of reader: ItemReader,
    and nameless: [(entry: ItemIndex.Entry, name: ItemName)] = [],
    of valueReader: ItemReader? = nil, head: JournalHead, keys: KeyRing,
    progress: SealedFileStore.Progress?
  ) throws(StoreError) -> JournalView {
    do throws(StoreError) {
      var rewriter = try JournalRewriter(
        try directory.create(StoreFile.journalNext), head: head,
        count: entries.count + nameless.count, keys: keys, random: environment.random)
      try reader.forEach(
        entries, progress: progress, failure: { store.corruptRecord($0.offset, "it was changed") }
      ) { record, _ throws(StoreError) in
        try rewriter.add(record, reader.time(of: record))
      }
      for (entry, name) in nameless {
        guard let valueReader else { continue }
        try valueReader.forEach(
          [entry], progress: nil,
          failure: { store.corruptRecord($0.offset, "it was changed") }
        ) { record, _ throws(StoreError) in
          try rewriter.add(record.value, for: name, valueReader.time(of: record))
        }
      }
      return try rewriter.finish()
    } catch {
      directory.discard(StoreFile.journalNext)
      throw error
    }
  }

  /// Renames `journal.next` over the journal: from this moment on the new journal counts.
  ///
  /// After this has succeeded, call ``confirm(_:keys:_:)``.
  ///
  /// - Parameters:
  ///   - view: The new journal.
  ///   - old: The end of the old journal, if it has a reliable one.
  /// - Throws: `noSpace`, `accessDenied`, `io`, or an error of the anchor's keeper, and nothing
  ///   was changed; `outcomeUnknown`.
  func install(_ view: JournalView, after old: Mark?) throws(StoreError) {
    do throws(StoreError) {
      // Either journal may be there after a crash, so both are anchored.
      let marks = [old, view.mark].compactMap(\.self)
      try options.anchor?.keep(StoreAnchor(store: view.head.store, marks: marks), path: path)
      store.withStateIfOpen { $0.isReplacingJournal = true }
      try directory.rename(StoreFile.journalNext, to: StoreFile.journal)
      view.isNameDurable = true
    } catch {
      let isUnknown = error.code == .outcomeUnknown || mayBeInPlace(view)
      store.withStateIfOpen { open in
        open.isReplacingJournal = false
        // Either journal may be there after a crash; both have the same items. Look again.
        if isUnknown { open.discardJournal(error) }
      }
      guard isUnknown else {
        directory.discard(StoreFile.journalNext)
        throw error
      }
      throw unconfirmed(error)
    }
  }

  /// Returns whether a journal may have its name although the rename failed: some file systems
  /// report an error for a rename that they made.
  private func mayBeInPlace(_ view: JournalView) -> Bool {
    do throws(StoreError) {
      return try directory.status(of: StoreFile.journal)?.isSameFile(as: view.identity) ?? true
    } catch {
      return true
    }
  }

  /// Writes the mark of a journal that was installed, and gives the journal to readers of this
  /// process.
  ///
  /// - Throws: `outcomeUnknown` when the mark cannot be opened or written; the journal counts
  ///   nevertheless.
  func confirm(
    _ view: JournalView, keys: KeyRing, _ takeOver: (inout OpenState) -> Void
  ) throws(StoreError) {
    saveAnchor(view.mark, store: view.head.store)
    let open: OpenMark
    do throws(StoreError) {
      guard let mark = try directory.open(StoreFile.mark, .readWrite),
        let found = try OpenMark(mark)
      else { throw loader.corrupt("the mark is missing") }
      open = found
    } catch {
      // The open journal no longer has a name, and nothing may be written to it.
      store.withStateIfOpen { $0.discardJournal(error) }
      throw unconfirmed(error)
    }
    try confirm(view.mark, in: open, chainKey: keys.chainKey) { state in
      takeOver(&state)
      state.mark = open
      state.furthest = view.mark
    }
  }
}

extension OpenState {
  /// Makes the next use read the files again.
  mutating func discardJournal(_ error: StoreError) {
    journal = .unusable(error)
    isReplacingJournal = false
  }

  /// Takes a journal that was installed.
  mutating func take(_ view: JournalView) {
    journal = .usable(view)
    isReplacingJournal = false
  }
}

/// A queue that runs one compaction after another, and remembers the last failure.
package final class BackgroundCompaction: Sendable {
  private let queue = DispatchQueue(label: "session-tools.sealed-store.compact")
  private let isScheduled = Mutex(false)
  private let tried = Mutex(0)

  package init() {}

  /// The length of the journal when its compaction failed the last time; 0 after a success.
  var triedByteCount: Int {
    get { tried.withLock { $0 } }
    set { tried.withLock { $0 = newValue } }
  }

  /// Runs a closure soon, unless one is scheduled already.
  package func schedule(_ body: @escaping @Sendable () -> Void) {
    let isFirst = isScheduled.withLock { isScheduled in
      defer { isScheduled = true }
      return !isScheduled
    }
    guard isFirst else { return }
    queue.async { [self] in
      isScheduled.withLock { $0 = false }
      body()
    }
  }

  func wait() { queue.sync {} }
}
