import SessionToolsBase
import Synchronization

/// What the one writer of this process keeps from one change to the next.
struct WriterState {
  /// The open mark; overwritten in place after every change.
  var mark: OpenFile?
  /// How long the journal was when compacting it failed the last time.
  var compactionTriedAt = 0
  /// Whether header and copy were compared and left-over files removed since the store was
  /// opened.
  var isTidy = false
  private var sealing: SealingMemory?

  /// What changes are sealed with.
  mutating func sealingMemory(_ random: any RandomSource) -> SealingMemory {
    if let sealing { return sealing }
    let sealing = SealingMemory(random: random)
    self.sealing = sealing
    return sealing
  }
}

extension SealedFileStore {
  /// Runs a closure as the only writer among threads and processes, on a journal that is up
  /// to date, sound, and ends with a confirmed change.
  ///
  /// - Parameters:
  ///   - needsHeader: Whether the header has to be up to date as well.
  ///   - body: What to do.
  /// - Returns: What the closure gives.
  /// - Throws: `timedOut` when another process holds the lock for too long, `locked`,
  ///   `corrupt`, `outcomeUnknown`, `accessDenied`, `io`, or what the closure throws.
  func writing<Result: Sendable>(
    needsHeader: Bool = false, _ body: (inout WriterState) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try holdingWriterLock { writer throws(StoreError) in
      if needsHeader { writer.isTidy = false }
      try self.prepare(&writer)
      return try body(&writer)
    }
  }

  /// Runs a closure as the only writer among threads and processes, whatever the journal is
  /// like.
  ///
  /// - Throws: `timedOut`, `locked`, `io`, or what the closure throws.
  func holdingWriterLock<Result: Sendable>(
    _ body: (inout WriterState) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    // The fork check comes before a lock that a thread of the parent may have held.
    try withState { _ in }
    return try writer.withLock { writer throws(StoreError) -> Result in
      let held = try lockFile.lock(byte: LockFile.writerByte, timeout: options.lockTimeout)
      defer { held.unlock() }
      return try body(&writer)
    }
  }

  private func prepare(_ writer: inout WriterState) throws(StoreError) {
    try withState { open throws(StoreError) in
      try open.refresh(from: loader)
      if open.isRotationPending { try finishRotation(&open, &writer) }
      let view = try open.soundJournal(path: directory.pathOfFile(StoreFile.journal))
      if !view.isNameDurable {
        // Whoever renamed it may have died, or failed, before the directory's sync.
        try directory.synchronize()
        view.isNameDurable = true
      }
      if !writer.isTidy {
        try tidy(&open)
        writer.isTidy = true
      }
      do throws(StoreError) {
        if view.tailByteCount > 0 { try cutTail(of: view) }
        try makeLastChangeDurable(view)
      } catch {
        // A sync that failed is never made again through this descriptor.
        open.journal = .unusable(error)
        throw error
      }
    }
  }

  /// Makes the last change durable if it may not be.
  ///
  /// It was written by a process that died before its sync, or whose sync failed, and has to be
  /// durable before another follows, or a power cut could tear one that is not the last.
  /// Written again, because after a failed sync the kernel calls the lost pages clean: syncing
  /// alone would say yes and do nothing.
  private func makeLastChangeDurable(_ view: JournalView) throws(StoreError) {
    guard view.confirmedByteCount < view.end.byteCount else { return }
    let start = max(view.confirmedByteCount, view.lastChangeByteCount)
    try view.file.copy(start..<view.end.byteCount, to: view.file, at: start)
    try view.file.synchronizeData()
    view.confirmedByteCount = view.end.byteCount
  }

  /// Makes header and copy equal again, and removes what a crash left.
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
    for name in [
      StoreFile.headerNext, StoreFile.journalNext,
      StoreFile.temporary,
    ] {
      try directory.remove(name)
    }
  }

  /// Puts a rotation's header in the place of the old one, if nobody else did so meanwhile.
  private func finishRotation(
    _ open: inout OpenState, _ writer: inout WriterState
  ) throws(StoreError) {
    try open.reload(with: loader)
    guard open.isRotationPending else { return }
    // The journal's name first: a header that is durable before it would open nothing.
    try directory.synchronize()
    try installHeader(open.header, headerKey: open.keys.headerKey, &writer)
    open.isRotationPending = false
    options.onNotice?(.rotationFinished)
  }

  /// Puts a rotation's header in the place of the old one: the journal counts already.
  ///
  /// - Throws: `noSpace`, `accessDenied`, `io` or `outcomeUnknown`; the rotation is pending as
  ///   before then.
  func installHeader(
    _ header: Header, headerKey: KeyBytes, _ writer: inout WriterState
  ) throws(StoreError) {
    writer.isTidy = false
    let headers = HeaderFiles(directory: directory)
    try headers.write(header, headerKey: headerKey)
    try headers.writeCopy(header, headerKey: headerKey)
    try directory.remove(StoreFile.headerNext)
    try directory.synchronize()
  }

  private func cutTail(of view: JournalView) throws(StoreError) {
    let keptAt = try keepTail(of: view)
    try view.file.truncate(to: view.end.byteCount)
    try view.file.synchronizeData()
    options.onNotice?(
      .unfinishedWriteCutOff(byteCount: view.tailByteCount, keptAt: keptAt))
    view.tailByteCount = 0
    view.fileByteCount = view.end.byteCount
  }

  /// Keeps an unfinished write that is as long as a whole record in a file of its own; `nil`
  /// when it is shorter, or when there is no space for it: nobody was told that it was stored,
  /// and cutting it off is what makes space.
  private func keepTail(of view: JournalView) throws(StoreError) -> String? {
    guard view.tailByteCount >= RecordPlaintext.smallestRecordByteCount else { return nil }
    let tail = view.end.byteCount..<view.end.byteCount + view.tailByteCount
    do throws(StoreError) {
      let file = try directory.create(StoreFile.temporary)
      try view.file.copy(tail, to: file, at: 0)
      try file.synchronize()
      let name = try unusedName(
        "tail-\(view.head.journal.bytes.hexadecimal)-\(view.end.byteCount)", for: file)
      try directory.rename(StoreFile.temporary, to: name)
      return directory.pathOfFile(name)
    } catch let error where error.code == StoreError.noSpace {
      directory.discard(StoreFile.temporary)
      return nil
    }
  }

  /// A name under which there is nothing, or the same: what a file is kept for may have been
  /// interrupted after it was kept.
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
