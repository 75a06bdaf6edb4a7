public import SecretStores
import Synchronization

/// A store in one directory, whose items are sealed with XChaCha20-Poly1305, and whose changes are
/// durable when they return.
///
/// ```swift
/// let store = try SealedFileStore.create(at: path, key: KeyFile.create(at: keyPath))
/// try store.put(SecretBytes(utf8: "s3cret"), for: ItemName("token", in: "com.example.mail"))
/// ```
///
/// Any number of tasks, threads and processes may use a store at the same time. Reads take no lock
/// between processes and see every change that returned before they began, whichever process made
/// it. Changes made at the same moment in one process share one write and one sync.
///
/// There is no method to close a store: its files are closed with the last reference to it. A
/// process needs one object for all its threads; a process that was forked opens the store again.
///
/// The format is described in the article <doc:FileFormat>.
public final class SealedFileStore: BlockingConditionalStore, MigratableStore {
  /// The options of an open store.
  public struct Options: Sendable {
    /// The longest time to wait for another process that writes.
    public var lockTimeout: Duration
    /// A closure that receives the store's notices.
    ///
    /// It may be called on any thread, while the store is at work: do not call the store from it.
    public var onNotice: (@Sendable (StoreNotice) -> Void)?
    /// A keeper that records elsewhere how far the store was written, so that an older state of all
    /// its files is detected.
    public var anchor: StoreAnchor.Keeper?

    /// Creates options; by default 10 seconds, no closure for notices, and no anchor.
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
  public static let maximumValueByteCount = 16 << 20
  /// The largest change in bytes of the journal, 1 GiB: a change must be in memory as a whole.
  public static let maximumChangeByteCount = 1 << 30

  /// The store's directory.
  public let path: String
  /// What runs an `async` read: a few threads outside of the pool of tasks.
  public var executor: BlockingExecutor { readThreads }

  let environment: StoreEnvironment
  let options: Options
  let directory: PrivateDirectory
  /// The loader that reads the files again.
  let loader: StoreLoader
  /// The process that opened the store; a forked child has the descriptors, but may not use them.
  private let process = CurrentProcess.identifier
  /// `nil` while the store is locked.
  let state: Mutex<OpenState?>
  /// The slots that the numbers of a caller mean.
  let listedSlots: Mutex<[SlotRecord]>
  /// What this process's writers keep; it has one writer at a time.
  let writer = Mutex(StoreWriter.Kept())
  let commits = CommitQueue()
  let compaction = BackgroundCompaction()
  private let readThreads = BlockingExecutor(maximumThreadCount: 4)
  /// The threads for `async` changes, apart from reads because a change may wait long for another
  /// process.
  ///
  /// There are several, so that changes can share a write.
  private let writeThreads = BlockingExecutor(maximumThreadCount: 8)
  let nameLocks: NameLocks<ItemName>
  let lockFile: LockFile
  let watcher = StoreWatcher()

  init(
    directory: PrivateDirectory, state: OpenState, options: Options, environment: StoreEnvironment
  ) throws(StoreError) {
    path = directory.path
    self.directory = directory
    let isWatched = options.onNotice != nil || StoreReport.isObserved
    let options = options.reporting(as: directory.path)
    self.options = options
    self.environment = environment
    loader = StoreLoader(directory, options, environment)
    nameLocks = NameLocks(store: directory.path)
    lockFile = LockFile(directory)
    // Only a change needs this file, but it is checked now: a store that others can lock is not
    // private.
    _ = try directory.open(StoreFile.lock, .read)
    if state.isHeaderFromCopy { options.onNotice?(.headerReadFromCopy) }
    if !state.keys.isMemoryLocked { options.onNotice?(.keyMemoryNotLocked) }
    if isWatched,
      let parent = ExposedParent(above: directory.path, fileSystem: environment.fileSystem)
    {
      options.onNotice?(.parentExposed(reason: parent.reason, remedy: parent.remedy))
    }
    listedSlots = Mutex(state.header.slots)
    self.state = Mutex(state)
  }

  deinit {
    watcher.stop()
  }

  /// Whether the store's directory was removed, wherever it was; this object can still read what it
  /// had.
  package var isRemoved: Bool {
    // A removed directory has no links. If that cannot be found out, operations report why.
    (try? environment.fileSystem.status(of: directory.descriptor))?.linkCount == 0
  }

  /// Opening a store and making one are different things.
  @available(*, unavailable, message: "use SealedFileStore.open(at:key:) or create(at:key:)")
  public convenience init(path: String, key: some KeySource) {
    fatalError()
  }

  /// Opens an existing store.
  ///
  /// Blocks for as long as the key source takes; a passphrase takes about a second.
  ///
  /// - Parameters:
  ///   - path: The store's directory.
  ///   - key: The source of the key for one of its slots.
  ///   - options: The options of the open store.
  /// - Returns: The open store.
  /// - Throws: `unavailable` when there is no store, `wrongKey` when no slot opens, `corrupt`
  ///   when the header is, `unsupportedVersion`, `unsafePermissions`, `accessDenied`, `io`, or an
  ///   error of the key source; `timedOut`, as for any read, when other processes replace the
  ///   files for 30 seconds faster than they can be read. A damaged journal is not an error here:
  ///   reads report it, and ``verify(progress:)`` and ``repair(progress:)`` need an open store.
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

  /// Makes changes like the blocking method, on one of a few threads outside of the pool of tasks.
  ///
  /// - Throws: As the blocking method.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await writeThreads.blocking { () throws(StoreError) in try self.apply(changes) }
  }

  package func asyncApply(
    _ changes: [StoreChange], if condition: ItemCondition
  ) async throws(StoreError) -> ChangeOutcome {
    try await writeThreads.blocking { () throws(StoreError) in
      try self.apply(changes, if: condition)
    }
  }

  /// Runs a closure with the open state, which no other thread changes meanwhile.
  ///
  /// - Throws: `locked`, `unavailable` in a forked child, or an error of the closure.
  @inline(__always)
  func withState<Result>(
    _ body: (inout OpenState) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard !isInForkedChild else {
      throw StoreError(
        .unavailable, store: path,
        reason: "the store was opened by the parent of this forked process",
        remedy: "Open the store again in the child")
    }
    return try state.withLock { slot throws(StoreError) -> Result in
      guard slot != nil else { throw lockedError }
      // Used in place: bound to a name, the whole state would be copied for every read.
      // swift-format-ignore: NeverForceUnwrap
      return try body(&slot!)
    }
  }

  /// Refuses a store that is locked, or that a forked child has from its parent.
  ///
  /// - Throws: `locked` or `unavailable`.
  func checkIsOpen() throws(StoreError) {
    try withState { _ in }
  }

  /// Runs a closure with the open state, after taking over the changes of other processes.
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
      if let result = try withRecoveredState(body) { return result }
    }
  }

  /// Recovers the part behind the mark, or finds out under the writer's lock what is wrong, and
  /// runs the closure; `nil` when a writer recovered it meanwhile.
  private func withRecoveredState<Result: Sendable>(
    _ body: (inout OpenState) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    try recovering(unlessMarkIsNot: try loader.markBytes()) { hold throws(StoreError) in
      try withState { open throws(StoreError) in
        _ = try open.refresh(from: loader, holding: hold)
        return try body(&open)
      }
    }
  }

  /// Runs a closure with the writer's lock, as the only thread of this process that recovers or
  /// writes; `nil` when the mark is no longer the one that was seen, and another process has the
  /// lock.
  ///
  /// - Throws: `timedOut`, `io`, or an error of the closure.
  func recovering<Result: Sendable>(
    unlessMarkIsNot seen: [UInt8]?,
    _ body: (WriterHold) throws(StoreError) -> Result?
  ) throws(StoreError) -> Result? {
    try writer.withLock { _ throws(StoreError) in
      try loader.whileRecovering(
        with: lockFile, unlessMarkIsNot: seen, body)
    }
  }

  /// Whether this process is not the one that opened the store: locks that were held when it was
  /// forked stay locked in it.
  var isInForkedChild: Bool { CurrentProcess.identifier != process }

  private var lockedError: StoreError {
    StoreError(
      .locked, store: path, reason: "the store is locked",
      remedy: "Unlock it with its key or passphrase")
  }
}

extension SealedFileStore {
  /// Runs a closure while no other task, thread or process has exclusive access to the name.
  ///
  /// - Throws: `locked`, `timedOut`, `io`, or an error of the closure.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    let deadline = SuspendingClock.now + timeout
    let byte = try lockByte(of: name)
    try nameLocks.lock(name, timeout: timeout)
    defer { nameLocks.unlock(name) }
    let held = try lockFile.lock(byte: byte, timeout: deadline - .now)
    defer { held.unlock() }
    return try body()
  }

  /// Runs a closure while no other task, thread or process has exclusive access to the name.
  ///
  /// - Throws: `locked`, `timedOut`, `cancelled` when the task was canceled while waiting,
  ///   `io`, or an error of the closure.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    let deadline = SuspendingClock.now + timeout
    let byte = try lockByte(of: name)
    try await nameLocks.lock(name, timeout: timeout)
    defer { nameLocks.unlock(name) }
    let held = try await lockFile.lock(byte: byte, timeout: deadline - .now)
    defer { held.unlock() }
    return try await body()
  }

  /// Returns the byte of the lock file that stands for a name.
  ///
  /// Every user of the machine sees the locks in /proc/locks, so the name is hashed together
  /// with the store's identifier, which only this user can read. It is not hashed with a key: keys
  /// change, and then two holders of the same name would not exclude each other.
  private func lockByte(of name: ItemName) throws(StoreError) -> Int {
    let identifier = try withState { $0.header.store }
    let input = ByteBuffer(byteCount: 16 + name.canonicalByteCount)
    identifier.bytes.store(in: input, at: 0)
    name.storeCanonical(in: input, at: 16)
    return LockFile.byte(for: Sodium.hash16(input, 0..<input.byteCount, key: nil).low)
  }
}
