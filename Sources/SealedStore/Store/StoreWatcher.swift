import Dispatch
public import SessionToolsBase
import Synchronization

extension SealedFileStore {
  /// Returns a stream of the names that change from now on, whichever process changes them.
  ///
  /// The kernel's notifications feed the stream, so nothing is polled. When the system allows no
  /// more watches, only changes made through this object are reported. Names are sealed: while the
  /// store is locked nothing can be reported, and unlocking it reports `resynchronize`.
  public func changes() -> AsyncStream<StoreEvent> {
    watcher.stream(from: self)
  }

  /// Returns a stream of the changes of some names from now on, whichever process makes them.
  ///
  /// As ``changes()``; an event costs only those who listen to one of its names.
  public func changes(of keys: Set<StoreKey>) -> AsyncStream<StoreEvent> {
    watcher.stream(from: self, of: keys)
  }
}

/// A watcher that reports changed items to observers, by reading the journal further whenever the
/// kernel reports a write.
final class StoreWatcher: Sendable {
  let observers = Observers()

  private struct State {
    var source: (any DispatchSourceRead)?
    var seen: Place?
  }

  /// The end of the changes that were reported to the observers.
  struct Place: Equatable {
    let journal: JournalIdentifier
    let end: JournalPosition

    init(of view: JournalView) {
      journal = view.head.journal
      end = view.end
    }
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "session-tools.watcher")

  /// Returns a stream of changes from now on, and begins to watch if there is no watch yet.
  func stream(
    from store: SealedFileStore, of keys: Set<StoreKey>? = nil
  ) -> AsyncStream<StoreEvent> {
    state.withLock { state in
      let isFirst = observers.isEmpty
      let stream = observers.stream(of: keys)
      if state.source == nil { state.source = source(of: store) }
      // Earlier observers must still receive the changes since the place that there is. A locked or
      // damaged store has no place yet: the first event resynchronizes.
      if isFirst { state.seen = try? store.currentPlace() }
      return stream
    }
  }

  private func source(of store: SealedFileStore) -> (any DispatchSourceRead)? {
    // Without a watch the store's own changes are still reported. The directory is watched by its
    // descriptor: a relative path leads elsewhere once the working directory was changed.
    let notifications = try? DirectoryNotifications(
      "/proc/self/fd/\(store.directory.descriptor.rawValue)")
    guard let notifications else { return nil }
    let source = DispatchSource.makeReadSource(
      fileDescriptor: notifications.descriptor, queue: queue)
    source.setEventHandler { [weak self, weak store] in
      notifications.drain()
      guard let self, let store else { return }
      self.tellChanges(of: store)
    }
    // This keeps the descriptor open until the source is done with it.
    source.setCancelHandler { withExtendedLifetime(notifications) {} }
    source.activate()
    return source
  }

  /// Ends all streams.
  func stop() {
    let source = state.withLock { $0.source.take() }
    source?.cancel()
    observers.finish()
  }

  /// Reports that anything may have changed.
  func tellToResynchronize() {
    state.withLock { $0.seen = nil }
    observers.tell(.resynchronize)
  }

  /// Reports a change made through this object.
  ///
  /// The kernel may have reported it before this object knew of it.
  func ownChangeWasMade(in store: SealedFileStore) {
    guard !observers.isEmpty else { return }
    queue.async { self.tellChanges(of: store) }
  }

  private func tellChanges(of store: SealedFileStore) {
    guard !observers.isEmpty else { return }
    let seen = state.withLock { $0.seen }
    do throws(StoreError) {
      let (place, changed) = try store.changes(since: seen)
      guard place == nil || place != seen else { return }
      state.withLock { $0.seen = place }
      observers.tell(changed.map { .changed($0) } ?? .resynchronize)
    } catch {
      // The store is locked or damaged: observers that read it get the reason.
      state.withLock { $0.seen = nil }
      observers.tell(.resynchronize)
    }
  }
}

extension SealedFileStore {
  /// Returns the end of the journal; `nil` when only a reader with the writer's lock can find it.
  fileprivate func currentPlace() throws(StoreError) -> StoreWatcher.Place? {
    try withReportedState { _, view in StoreWatcher.Place(of: view) }
  }

  /// Runs a closure with a sound journal that has everything the kernel has reported; `nil` when
  /// that needs the writer's lock.
  ///
  /// The lock is never taken here: that could wait, and could make the lock file again in a
  /// directory that someone is removing. The kernel may have reported another file under a name,
  /// which it does only once, so the names are checked.
  private func withReportedState<Result: Sendable>(
    _ body: (inout OpenState, JournalView) -> Result
  ) throws(StoreError) -> Result? {
    try withState { open throws(StoreError) in
      open.expectOtherFiles()
      guard try open.refresh(from: loader) else { return nil }
      let view = try open.soundJournal(in: directory)
      return body(&open, view)
    }
  }

  /// Returns the end of the journal, and the items changed since a place; `nil` for either when it
  /// is not known.
  fileprivate func changes(
    since seen: StoreWatcher.Place?
  ) throws(StoreError) -> (StoreWatcher.Place?, Set<StoreKey>?) {
    let found = try withReportedState { open, view in
      open.keys.beginUse()
      return (StoreWatcher.Place(of: view), view.file, open.keys)
    }
    guard let (place, file, keys) = found else { return (nil, nil) }
    defer { keys.endUse() }
    guard let seen, seen.journal == place.journal else { return (place, nil) }
    let opener = RecordOpener(journal: place.journal, keys: keys)
    var changed: Set<StoreKey> = []
    var start = seen.end.byteCount
    while start < place.end.byteCount {
      let record = try opener.read(
        from: file, at: start, fileByteCount: place.end.byteCount, .name)
      guard let record else { return (place, nil) }
      // A void change changes no item.
      if !record.isVoid {
        guard let key = record.key else { return (place, nil) }
        changed.insert(key)
      }
      start += record.prefix.recordByteCount
    }
    return (place, changed)
  }
}
