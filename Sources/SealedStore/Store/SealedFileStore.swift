public import Dispatch
public import SessionToolsBase
import Synchronization

/// A store in one directory, every item sealed with XChaCha20-Poly1305, every change durable
/// when it returns.
///
/// ```swift
/// let store = try SealedFileStore.create(at: path, key: KeyFile.create(at: keyPath))
/// try store.put(SecretBytes(utf8: "s3cret"), for: StoreKey("token", in: "com.example.mail"))
/// ```
///
/// Safe for any number of tasks, threads and processes at the same time. Reads take no lock
/// between processes and see every change that returned before they began, whoever made it.
/// Changes made at the same moment in one process share one write and one sync.
///
/// The format is described in the article <doc:FileFormat>.
public final class SealedFileStore: BlockingSecretStore, MigratableStore {
  /// What a caller may choose.
  public struct Options: Sendable {
    /// How long to wait for another process that writes.
    public var lockTimeout: Duration
    /// Hears of what the store mended or met on the way.
    ///
    /// May be called on any thread, while the store is at work: do not call the store from it.
    public var onNotice: (@Sendable (StoreNotice) -> Void)?
    /// Keeps elsewhere how far the store was written, so that an older state of all its files is
    /// noticed.
    public var anchor: StoreAnchor.Keeper?

    /// States options; 10 seconds, nobody who listens, and no anchor.
    public init(
      lockTimeout: Duration = .seconds(10), onNotice: (@Sendable (StoreNotice) -> Void)? = nil,
      anchor: StoreAnchor.Keeper? = nil
    ) {
      self.lockTimeout = lockTimeout
      self.onNotice = onNotice
      self.anchor = anchor
    }
  }

  /// The largest value in bytes: 16 MiB.
  public static let largestValueByteCount = 16 << 20
  /// The largest change in bytes of the journal, 1 GiB: it has to be in memory as a whole.
  public static let largestChangeByteCount = 1 << 30

  /// The store's directory.
  public let path: String
  /// Where an `async` read runs: on one of a few threads beside the pool of tasks.
  public var queue: DispatchQueue { readLanes.queue }

  let environment: StoreEnvironment
  let options: Options
  let directory: PrivateDirectory
  /// Reads the files anew.
  let loader: StoreLoader
  /// The process that opened the store; a forked child has the descriptors, but not the right.
  private let process = CurrentProcess.identifier
  /// `nil` while the store is locked.
  let state: Mutex<OpenState?>
  /// What one writer at a time in this process has.
  let writer = Mutex(WriterState())
  let commits = CommitQueue()
  let compaction = BackgroundCompaction()
  private let readLanes = BlockingLanes("session-tools.sealed-store.read", count: 4)
  /// Apart from reads, because a change may wait long for another process.
  ///
  /// Several, so that changes can share a write.
  private let writeLanes = BlockingLanes("session-tools.sealed-store.write", count: 8)
  let names: NameLocks<StoreKey>
  let lockFile: LockFile
  let watcher = StoreWatcher()

  init(
    directory: PrivateDirectory, state: OpenState, options: Options, environment: StoreEnvironment
  ) throws(StoreError) {
    path = directory.path
    self.directory = directory
    let isWatched = options.onNotice != nil || SessionEvent.isObserved
    let options = options.tellingObserver(of: directory.path)
    self.options = options
    self.environment = environment
    loader = StoreLoader(directory, options, environment)
    names = NameLocks(store: directory.path)
    lockFile = LockFile(directory)
    // Needed first by a change, and checked now: a store that others can lock is no private one.
    _ = try directory.open(StoreFile.lock, .read)
    if state.isHeaderFromCopy { options.onNotice?(.headerReadFromCopy) }
    if !state.keys.isMemoryLocked { options.onNotice?(.keyMemoryNotLocked) }
    if isWatched,
      let parent = ExposedParent(above: directory.path, fileSystem: environment.fileSystem)
    {
      options.onNotice?(.parentExposed(reason: parent.reason, remedy: parent.remedy))
    }
    self.state = Mutex(state)
  }

  deinit {
    watcher.stop()
  }

  /// Opens an existing store.
  ///
  /// Blocks for as long as the key source takes: a passphrase about a second.
  ///
  /// - Parameters:
  ///   - path: The store's directory.
  ///   - key: What opens one of its slots.
  ///   - options: What the caller chooses.
  /// - Returns: The open store.
  /// - Throws: `unavailable` when there is no store, `wrongKey` when no slot opens, `corrupt`
  ///   when the header is, `unsupportedVersion`, `unsafePermissions`, `accessDenied`, `io`, or
  ///   what the key source throws; `timedOut`, as any read, when other processes replace the
  ///   files for 30 seconds faster than they can be read. A damaged journal is no error here:
  ///   reads tell of it, and ``verify(progress:)`` and ``repair(progress:)`` need the store open.
  public static func open(
    at path: String, key: some KeySource, options: Options = Options()
  ) throws(StoreError) -> SealedFileStore {
    try open(at: path, key: key, options: options, environment: StoreEnvironment())
  }

  package static func open(
    at path: String, key: some KeySource, options: Options = Options(),
    environment: StoreEnvironment
  ) throws(StoreError) -> SealedFileStore {
    let directory = try PrivateDirectory.ofStore(at: path, fileSystem: environment.fileSystem)
    let state = try StoreLoader(directory, options, environment).open(by: .source(key))
    return try SealedFileStore(
      directory: directory, state: state, options: options, environment: environment)
  }

  /// Runs the blocking twin on one of a few threads beside the pool of tasks.
  ///
  /// - Throws: As the blocking twin.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await withCheckedContinuation { continuation in
      writeLanes.queue.async {
        continuation.resume(
          returning: Result { () throws(StoreError) in try self.apply(changes) })
      }
    }.get()
  }

  /// Runs a closure with the open state, which nobody else changes meanwhile.
  ///
  /// - Throws: `locked`, `unavailable` in a forked child, or what the closure throws.
  @inline(__always)
  func withState<Result>(
    _ body: (inout OpenState) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard !isInForkedChild else {
      throw StoreError(
        StoreError.unavailable, store: path,
        reason: "the store was opened by the parent of this forked process",
        remedy: "Open the store anew in the child")
    }
    return try state.withLock { slot throws(StoreError) -> Result in
      guard slot != nil else { throw lockedError }
      // In its place: bound to a name, all of it would be copied, for every read.
      // swift-format-ignore: NeverForceUnwrap
      return try body(&slot!)
    }
  }

  /// Runs a closure with the open state, brought up to date with what other processes did.
  ///
  /// - Throws: As ``withState(_:)``, and `corrupt`, `accessDenied`, `io`, or `timedOut` when the
  ///   writer's lock is needed and another process holds it for too long.
  @inline(__always)
  func withCurrentState<Result: Sendable>(
    _ body: (inout OpenState) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    while true {
      let result = try withState { open throws(StoreError) -> Result? in
        guard try open.refresh(from: loader) else { return nil }
        return try body(&open)
      }
      if case .some(let result) = consume result { return result }
      if let result = try withSettledState(body) { return result }
    }
  }

  /// Settles what stands behind the mark, or finds out under the writer's lock what is wrong, and
  /// runs the closure; `nil` when a writer did so meanwhile.
  private func withSettledState<Result: Sendable>(
    _ body: (inout OpenState) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    try settling { hold throws(StoreError) in
      try withState { open throws(StoreError) in
        _ = try open.refresh(from: loader, holding: hold)
        return try body(&open)
      }
    }
  }

  /// Runs a closure with the writer's lock, as the only thread of this process that settles or
  /// writes; `nil` when the mark changed while another process had the lock.
  ///
  /// - Throws: `timedOut`, `io`, or what the closure throws.
  func settling<Result: Sendable>(
    _ body: (WriterHold) throws(StoreError) -> Result?
  ) throws(StoreError) -> Result? {
    try writer.withLock { _ throws(StoreError) in
      try loader.whileSettling(
        with: lockFile, unlessMarkIsNot: try loader.markBytes(), body)
    }
  }

  /// Whether this is another process than the one that opened the store: what was locked when it was
  /// forked, stays locked.
  var isInForkedChild: Bool { CurrentProcess.identifier != process }

  private var lockedError: StoreError {
    StoreError(
      StoreError.locked, store: path, reason: "the store is locked",
      remedy: "Unlock it with its key or passphrase")
  }
}
