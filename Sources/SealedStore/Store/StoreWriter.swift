import SecretStores
import Synchronization

/// The only writer of a store, while its lock is held.
///
/// Its methods are what may be done only while no other thread or process writes; they are in the
/// files of the operations. Only taking the lock makes a writer.
struct StoreWriter: ~Copyable {
  let store: SealedFileStore
  /// What the writer of this process keeps from one change to the next.
  var kept: Kept

  struct Kept {
    /// Whether header and copy were compared and left-over files removed since the store was
    /// opened.
    var isTidy = false
    fileprivate var sealing: SealingMemory?
  }

  fileprivate init(of store: SealedFileStore, _ kept: Kept) {
    self.store = store
    self.kept = kept
  }

  var path: String { store.path }
  var options: SealedFileStore.Options { store.options }
  var environment: StoreEnvironment { store.environment }
  var directory: PrivateDirectory { store.directory }
  var loader: StoreLoader { store.loader }

  /// Returns the memory in which changes are sealed.
  mutating func sealingMemory() -> SealingMemory {
    if let sealing = kept.sealing { return sealing }
    let sealing = SealingMemory(random: environment.random, clock: environment.clock)
    kept.sealing = sealing
    return sealing
  }
}

extension SealedFileStore {
  /// Runs a closure as the only writer among threads and processes, on a journal that is up
  /// to date and sound, with nothing behind its mark.
  ///
  /// - Parameters:
  ///   - needsHeader: Whether the header must be up to date, too.
  ///   - timeout: The longest time to wait for another process; by default the store's option.
  ///   - isChange: Whether the closure makes a change: then a failure before it changed nothing,
  ///     whatever else was repaired.
  ///   - body: The closure.
  /// - Returns: The result of the closure.
  /// - Throws: `timedOut` when another process holds the lock for too long, `locked`,
  ///   `corrupt`, `outcomeUnknown`, `accessDenied`, `io`, or an error of the closure.
  func writing<Result: Sendable>(
    needsHeader: Bool = false, timeout: Duration? = nil, isChange: Bool = false,
    _ body: (inout StoreWriter) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try holdingWriterLock(timeout: timeout) { writer throws(StoreError) in
      if needsHeader { writer.kept.isTidy = false }
      do throws(StoreError) {
        try writer.prepare()
      } catch {
        throw isChange ? error.ofPreparation : error
      }
      return try body(&writer)
    }
  }

  /// Runs a closure as the only writer among threads and processes, whatever the state of the
  /// journal.
  ///
  /// - Throws: `timedOut`, `locked`, `io`, or an error of the closure.
  func holdingWriterLock<Result: Sendable>(
    timeout: Duration? = nil, _ body: (inout StoreWriter) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    // The fork check comes before a lock that a thread of the parent may have held.
    try checkIsOpen()
    let timeout = timeout ?? options.lockTimeout
    func use(_ kept: inout sending StoreWriter.Kept) throws(StoreError) -> sending Result {
      let held = try self.lockFile.lock(byte: LockFile.writerByte, timeout: timeout)
      defer { held.unlock() }
      var writer = StoreWriter(of: self, kept)
      defer { kept = writer.kept }
      return try body(&writer)
    }
    guard timeout == .zero else { return try writer.withLock(use) }
    let result = try writer.withLockIfAvailable(use)
    guard let result else {
      throw StoreError(
        .timedOut, store: path, reason: "another thread is writing to the store")
    }
    return result
  }
}

extension StoreWriter {
  fileprivate mutating func prepare() throws(StoreError) {
    try store.withState { open throws(StoreError) in
      _ = try open.refresh(from: loader, holding: .exclusive)
      if open.isRotationPending { try finishRotation(&open) }
      let view = try open.soundJournal(in: directory)
      if !view.isNameDurable {
        // The process that renamed it may have died, or failed, before it synced the directory.
        try directory.synchronize()
        view.isNameDurable = true
      }
      if !kept.isTidy {
        try tidy(&open)
        kept.isTidy = true
      }
    }
  }

  /// Makes header and copy equal again, and removes files that a crash left.
  private func tidy(_ open: inout OpenState) throws(StoreError) {
    try open.refreshHeader(from: loader)
    let headers = HeaderFiles(directory: directory)
    let contents = [
      try headers.content(of: StoreFile.header),
      try headers.content(of: StoreFile.headerCopy),
    ]
    if contents != [.header(open.header), .header(open.header)] {
      try headers.write(open.header, headerKey: open.keys.headerKey)
      try headers.writeCopy(open.header, headerKey: open.keys.headerKey)
      options.onNotice?(.headersMadeEqual)
    }
    if try directory.status(of: StoreFile.headerNext) != nil {
      // First the names must be durable: that of the header that equals this file, or that of the
      // journal that does not need it.
      try directory.synchronize()
    }
    for name in [StoreFile.headerNext, StoreFile.journalNext, StoreFile.temporary] {
      try directory.remove(name)
    }
  }

  /// Replaces the old header by that of a rotation, if no other process did so meanwhile.
  private mutating func finishRotation(_ open: inout OpenState) throws(StoreError) {
    try open.reload(with: loader, holding: .exclusive)
    guard open.isRotationPending else { return }
    // The journal's name comes first: a header that is durable before it would open nothing.
    try directory.synchronize()
    try installHeader(open.header, headerKey: open.keys.headerKey)
    open.isRotationPending = false
    options.onNotice?(.rotationFinished)
  }

  /// Replaces the old header by that of a rotation, whose journal counts already.
  ///
  /// - Throws: `noSpace`, `accessDenied`, `io` or `outcomeUnknown`; the rotation is still pending
  ///   then.
  mutating func installHeader(_ header: Header, headerKey: KeyBytes) throws(StoreError) {
    kept.isTidy = false
    let headers = HeaderFiles(directory: directory)
    try headers.write(header, headerKey: headerKey)
    try headers.writeCopy(header, headerKey: headerKey)
    try directory.remove(StoreFile.headerNext)
    try directory.synchronize()
  }

  /// Returns a name that is not used, or whose file has the same content: a repair may have been
  /// interrupted after it kept the file.
  func unusedName(_ name: String, for file: OpenFile) throws(StoreError) -> String {
    var candidate = name
    var number = 1
    while let kept = try directory.open(candidate, .read), try !kept.hasSameContent(as: file) {
      number += 1
      candidate = "\(name)-\(number)"
    }
    return candidate
  }
}
