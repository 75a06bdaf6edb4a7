import Dispatch
public import SessionToolsBase
import Synchronization

extension SealedFileStore {
  /// How many superseded bytes let a journal be compacted without being asked.
  enum CompactionLimit {
    /// After ``changeCount`` changes.
    static let deadByteCount = 1 << 20
    /// Fewer changes are no reason to rewrite a journal.
    static let changeCount = 1000
    /// After any number of changes.
    static let largestDeadByteCount = 16 << 20
    /// When the store is locked.
    static let deadByteCountWhenLocking = 256 << 10
  }

  /// Rewrites the journal without what was superseded or removed.
  ///
  /// Until then, a value that was removed or replaced stays readable for those who have the store's
  /// key. It happens by itself when superseded and removed records take more than half of the
  /// journal and more than 16 MiB, or more than 1 MiB after 1,000 changes; 256 KiB are enough when
  /// the store is locked. In a smaller store it never happens by itself.
  ///
  /// Other processes go on reading the old file until they see the new one.
  ///
  /// - Returns: The bytes that were freed.
  /// - Throws: `locked`, `timedOut`, `corrupt` when any live record cannot be opened, `noSpace`,
  ///   and nothing was changed; `outcomeUnknown`, `accessDenied` or `io`.
  @discardableResult
  public func compact(progress: StoreProgress? = nil) throws(StoreError) -> Int {
    try writing { writer throws(StoreError) in
      try self.rewrite(&writer, progress: progress)
    }
  }

  /// Compacts on another thread when that is worth it: what was asked for is answered first.
  func compactLaterIfDue() {
    let isDue = isCompactionDue { view in
      let dead = view.deadByteCount
      return dead > CompactionLimit.largestDeadByteCount
        || dead > CompactionLimit.deadByteCount && view.changeCount >= CompactionLimit.changeCount
    }
    guard isDue else { return }
    compaction.schedule { [weak self] in
      self?.compactByItself(timeout: nil) { view in
        view.deadByteCount > CompactionLimit.deadByteCount
      }
    }
  }

  /// Compacts when little is to be gained, before the keys go.
  ///
  /// Not while another process writes: locking does not wait for it.
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
      // What failed is tried again when there is as much more to gain, not at every change.
      return view.deadByteCount > view.live.byteCount && isWorthIt(view)
        && view.end.byteCount
          >= compaction.triedByteCount + CompactionLimit.deadByteCountWhenLocking
    }
  }

  /// What was asked for has been done by then, so a failure here is only a notice.
  private func compactByItself(
    timeout: Duration?, _ isWorthIt: (JournalView) -> Bool
  ) {
    do throws(StoreError) {
      try writing(timeout: timeout) { writer throws(StoreError) in
        // Another thread or process may have done it by now.
        guard isCompactionDue(isWorthIt) else { return }
        try self.rewrite(&writer, progress: nil)
      }
      compaction.triedByteCount = 0
    } catch {
      // A store that was locked or damaged meanwhile is compacted after it was opened again.
      compaction.triedByteCount =
        (try? withState { open throws(StoreError) in
          try open.usableJournal().end.byteCount
        }) ?? 0
      if error.code != StoreError.locked, error.code != StoreError.timedOut {
        options.onNotice?(.compactionFailed(error.reason))
      }
    }
  }

  @discardableResult
  private func rewrite(
    _ writer: inout WriterState, progress: StoreProgress?
  ) throws(StoreError) -> Int {
    let (header, keys, old) = try withState { open throws(StoreError) in
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
    // A journal that takes another's place has a change even when the store is empty.
    return max(0, old.byteCount - newByteCount)
  }

  /// Makes the mark of the journal durable, as it has to be when another takes its place.
  ///
  /// - Returns: What that journal keeps of it.
  /// - Throws: `locked`, `noSpace`, `accessDenied` or `io`; no item is changed by it.
  func durableMark() throws(StoreError) -> MarkDigest {
    let (file, bytes, digest) = try withState { open throws(StoreError) in
      let view = try open.usableJournal()
      guard let mark = open.mark else { throw loader.corrupt("the mark is missing") }
      // The journal may have none of its own yet.
      mark.take(view.mark, chainKey: open.keys.chainKey)
      return (mark.file, mark.seenBytes, mark.digest)
    }
    try OpenMark.writeDurably(bytes, to: file)
    return digest
  }

  /// Writes all items into `journal.next`, sealed with the given keys, and syncs it.
  ///
  /// - Parameters:
  ///   - predecessor: The mark of the journal whose place it takes.
  ///   - version: How many changes were made to the store.
  ///   - store: The store's identifier.
  ///   - keys: What seals the new journal.
  ///   - progress: Told of every few items.
  /// - Returns: What a reader of the journal would know.
  /// - Throws: As ``writeJournal(_:of:head:keys:progress:)``, and `locked`.
  func rewriteJournal(
    after predecessor: MarkDigest, version: UInt64, store: StoreIdentifier, keys: KeyRing,
    progress: StoreProgress?
  ) throws(StoreError) -> JournalView {
    let (file, journal, oldKeys, entries) = try withState { open throws(StoreError) in
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
  /// - Throws: `corrupt` when one does not open, `noSpace`, `accessDenied` or `io`.
  func writeJournal(
    _ entries: [ItemIndex.Entry], of reader: ItemReader, head: JournalHead, keys: KeyRing,
    progress: StoreProgress?
  ) throws(StoreError) -> JournalView {
    do throws(StoreError) {
      var rewriter = try JournalRewriter(
        try directory.create(StoreFile.journalNext), head: head, count: entries.count,
        keys: keys, random: environment.random)
      try reader.forEach(
        entries, progress: progress, failure: { corruptRecord($0.offset, "it was changed") }
      ) { record, _ throws(StoreError) in
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
  /// If that worked, ``confirm(_:keys:_:)`` is to follow.
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
      let isUnknown = error.code == StoreError.outcomeUnknown || mayBeInPlace(view)
      withStateIfOpen { open in
        open.isReplacingJournal = false
        // Either journal may be the one after a crash; both say the same. Look again.
        if isUnknown { open.discardJournal(error) }
      }
      guard isUnknown else {
        directory.discard(StoreFile.journalNext)
        throw error
      }
      throw unconfirmed(error)
    }
  }

  /// Whether a journal may have its name although the rename failed: some file systems report errors
  /// of what they did.
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
  /// - Throws: `outcomeUnknown` when the mark cannot be opened or written; the journal counts all
  ///   the same.
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
      // The journal that is open has no name any more, and nothing may be written to it.
      withStateIfOpen { $0.discardJournal(error) }
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
  /// Lets the next use read the files again.
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

/// Runs one compaction after another on a thread of its own, and remembers what failed.
package final class BackgroundCompaction: Sendable {
  private let queue = DispatchQueue(label: "session-tools.sealed-store.compact")
  private let isScheduled = Mutex(false)
  private let tried = Mutex(0)

  package init() {}

  /// How long the journal was when compacting it failed the last time.
  var triedByteCount: Int {
    get { tried.withLock { $0 } }
    set { tried.withLock { $0 = newValue } }
  }

  /// Runs a closure soon, unless one is to run already.
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
}
