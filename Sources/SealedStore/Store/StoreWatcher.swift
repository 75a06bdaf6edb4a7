import Dispatch
import Foundation
public import SecretStores
import Synchronization

extension SealedFileStore {
  /// Returns a stream of the names that change from now on, whichever process changes them.
  ///
  /// The kernel's notifications feed the stream, so nothing is polled. While the system allows no
  /// more of them, the store is looked at every 2 s, which ``StoreNotice/changesPolled(_:)`` says
  /// once; so is a store on a remote file system, which reports only what this machine changes.
  /// Names are sealed: while the store is locked nothing can be reported, and unlocking it reports
  /// `resynchronize`.
  public func changes() -> AsyncStream<StoreEvent> {
    watcher.stream(from: self)
  }

  /// Returns a stream of the changes of some names from now on, whichever process makes them.
  ///
  /// As ``changes()``; an event costs only those who listen to one of its names.
  public func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent> {
    watcher.stream(from: self, of: names)
  }
}

/// A watcher that reports changed items to observers, by reading the journal further whenever the
/// kernel reports a write.
final class StoreWatcher: Sendable {
  /// How often to look at a store without notifications, and after how many looks to ask for them
  /// again.
  private static let pollInterval = 2.0
  private static let pollsBetweenTries = 30

  let observers = Observers()

  private struct State {
    var source: (any DispatchSourceRead)?
    /// Whether a thread looks at the store, because there are no notifications of some changes.
    var isPolled = false
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
    from store: SealedFileStore, of names: Set<ItemName>? = nil
  ) -> AsyncStream<StoreEvent> {
    state.withLock { state in
      let isFirst = observers.isEmpty
      let stream = observers.stream(of: names)
      if state.source == nil, !state.isPolled { watch(store, &state) }
      // Earlier observers must still receive the changes since the place that there is. A locked or
      // damaged store has no place yet: the first event resynchronizes.
      if isFirst { state.seen = try? store.currentPlace() }
      return stream
    }
  }

  private func watch(_ store: SealedFileStore, _ state: inout State) {
    do throws(StoreError) {
      state.source = source(of: store, try Self.notifications(of: store))
      guard Self.isRemote(store) else { return }
    } catch {
      // Not here, where this object is locked.
      queue.async { [weak store] in store?.options.onNotice?(.changesPolled(error.reason)) }
    }
    state.isPolled = true
    poll(store)
  }

  private static func isRemote(_ store: SealedFileStore) -> Bool {
    FileSystemType.of(path(of: store)).map(FileSystemType.remote.contains) ?? false
  }

  /// The directory by its descriptor: a relative path leads elsewhere once the working directory
  /// was changed.
  private static func path(of store: SealedFileStore) -> String {
    "/proc/self/fd/\(store.directory.descriptor.rawValue)"
  }

  private static func notifications(
    of store: SealedFileStore
  ) throws(StoreError) -> DirectoryNotifications {
    try DirectoryNotifications(path(of: store))
  }

  private func source(
    of store: SealedFileStore, _ notifications: DirectoryNotifications
  ) -> any DispatchSourceRead {
    let source = DispatchSource.makeReadSource(
      fileDescriptor: notifications.descriptor, queue: queue)
    source.setEventHandler { [weak self, weak store] in
      notifications.drain()
      guard let self, let store else { return }
      self.reportChanges(of: store)
    }
    // This keeps the descriptor open until the source is done with it.
    source.setCancelHandler { withExtendedLifetime(notifications) {} }
    source.activate()
    return source
  }

  /// Looks at a store from time to time, until there are notifications of all changes.
  ///
  /// A timer would need a descriptor, and the process may have none left.
  private func poll(_ store: SealedFileStore) {
    Thread.detachNewThread { [weak self, weak store] in
      for count in 1... {
        Thread.sleep(forTimeInterval: Self.pollInterval)
        guard let self, let store, self.state.withLock({ $0.isPolled }) else { return }
        let hasNotifications =
          count % Self.pollsBetweenTries == 0 && !Self.isRemote(store) && self.watchAgain(store)
        self.queue.sync { self.reportChanges(of: store, isPoll: true) }
        if hasNotifications { return }
      }
    }
  }

  private func watchAgain(_ store: SealedFileStore) -> Bool {
    // It is tried again later.
    guard let notifications = try? Self.notifications(of: store) else { return false }
    state.withLock { state in
      // The streams may have ended meanwhile.
      guard state.isPolled else { return }
      state.isPolled = false
      state.source = source(of: store, notifications)
    }
    return true
  }

  /// Ends all streams.
  func stop() {
    let source = state.withLock { state in
      state.isPolled = false
      return state.source.take()
    }
    source?.cancel()
    observers.finish()
  }

  /// Reports that anything may have changed.
  func requestResynchronization() {
    state.withLock { $0.seen = nil }
    observers.report(.resynchronize)
  }

  /// Reports a change made through this object.
  ///
  /// The kernel may have reported it before this object knew of it.
  func ownChangeWasMade(in store: SealedFileStore) {
    guard !observers.isEmpty else { return }
    queue.async { self.reportChanges(of: store) }
  }

  /// Reports what changed; a poll, for which nothing says that anything did, does not report again
  /// that the store cannot be followed.
  private func reportChanges(of store: SealedFileStore, isPoll: Bool = false) {
    guard !observers.isEmpty else { return }
    let seen = state.withLock { $0.seen }
    do throws(StoreError) {
      let (place, changed) = try store.changes(since: seen)
      guard place != seen || (place == nil && !isPoll) else { return }
      state.withLock { $0.seen = place }
      observers.report(changed.map { .changed($0) } ?? .resynchronize)
    } catch {
      guard seen != nil || !isPoll else { return }
      // The store is locked or damaged: observers that read it get the reason.
      state.withLock { $0.seen = nil }
      observers.report(.resynchronize)
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
  ) throws(StoreError) -> (StoreWatcher.Place?, Set<ItemName>?) {
    let found = try withReportedState { open, view in
      open.keys.beginUse()
      return (StoreWatcher.Place(of: view), view.file, open.keys)
    }
    guard let (place, file, keys) = found else { return (nil, nil) }
    defer { keys.endUse() }
    guard let seen, seen.journal == place.journal else { return (place, nil) }
    let opener = RecordOpener(journal: place.journal, keys: keys)
    var changed: Set<ItemName> = []
    var start = seen.end.byteCount
    while start < place.end.byteCount {
      let record = try opener.read(
        from: file, at: start, fileByteCount: place.end.byteCount, .name)
      guard let record else { return (place, nil) }
      // A void change changes no item.
      if !record.isVoid {
        guard let key = record.name else { return (place, nil) }
        changed.insert(key)
      }
      start += record.prefix.recordByteCount
    }
    return (place, changed)
  }
}
