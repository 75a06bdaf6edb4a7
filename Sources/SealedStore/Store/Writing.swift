public import SessionToolsBase
import Synchronization

extension SealedFileStore {
  /// Makes changes, all or none, durable when this returns.
  ///
  /// Blocks for one write and one sync, and for as long as another process writes. Changes that
  /// other threads ask for meanwhile share the next write and sync.
  ///
  /// - Throws: `locked`; `valueTooLarge` above 16 MiB for a value or 1 GiB of the journal for
  ///   all, `noSpace` or `timedOut`, and nothing was changed; `corrupt` when the journal is damaged;
  ///   `outcomeUnknown` when the disk did not confirm the change: it is there afterwards or
  ///   not, and the next use reads the file anew; `accessDenied` or `io`.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    guard !changes.isEmpty else { return }
    let byteCount = try checkedByteCount(of: changes)
    // The fork check comes before the queue, at which a thread of the parent may have been.
    try withState { _ in }
    try commits.submit(changes, byteCount: byteCount) { changes throws(StoreError) in
      try self.writing(isChange: true) { writer throws(StoreError) in
        try self.commit(changes, &writer)
      }
      self.compactLaterIfDue()
    }
  }

  /// What changes take in the journal, if they are not too large.
  private func checkedByteCount(of changes: [StoreChange]) throws(StoreError) -> Int {
    var total = 0
    for change in changes {
      if case .put(let value, for: let key) = change,
        value.byteCount > Self.largestValueByteCount
      {
        throw StoreError(
          StoreError.valueTooLarge, store: path,
          reason: "the value for \(key) has \(value.byteCount) bytes",
          remedy: "A value has at most \(Self.largestValueByteCount) bytes")
      }
      total += change.recordByteCount
    }
    guard total <= Self.largestChangeByteCount else {
      throw StoreError(
        StoreError.valueTooLarge, store: path,
        reason: "one change would take \(total) bytes of the journal",
        remedy: "Make several changes of at most \(Self.largestChangeByteCount) bytes")
    }
    return total
  }

  private func commit(
    _ changes: [StoreChange], _ writer: inout WriterState
  ) throws(StoreError) {
    let (view, mark, end, fileByteCount, keys) = try withState { open throws(StoreError) in
      let view = try open.usableJournal()
      guard let mark = open.mark else { throw loader.corrupt("the mark is missing") }
      open.keys.beginUse()
      return (view, mark, view.end, view.fileByteCount, open.keys)
    }
    defer { keys.endUse() }
    let written = try records(of: changes, keys)
    guard !written.isEmpty else { return }
    do throws(StoreError) {
      // Before anything is written: a change without its mark would count later.
      for file in [view.file, mark.file] { try file.checkIsWritable() }
    } catch {
      // Opened again by the next use, which may be allowed to write.
      withStateIfOpen { $0.discardJournal(error) }
      throw error
    }

    // `view` is only looked into under the state's lock; file and head never change.
    let sealed = SealedChange(
      of: written, journal: view.head.journal, after: end, fileByteCount: fileByteCount,
      keys: keys, memory: writer.sealingMemory(environment.random))
    let newByteCount: Int
    do throws(FailedWrite) {
      newByteCount = try write(sealed, to: view.file, at: end.byteCount)
    } catch {
      withStateIfOpen { open in
        view.fileByteCount = end.byteCount
        // Read again through another descriptor, whose syncs tell the truth.
        if !error.isCutOff { open.discardJournal(error.error) }
      }
      throw error.error
    }
    do throws(StoreError) {
      try view.file.synchronizeData()
    } catch {
      // Never synced again through this descriptor: the kernel may call the lost pages clean.
      withStateIfOpen { $0.discardJournal(error) }
      throw error
    }
    let newMark = Mark(journal: view.head.journal, position: sealed.end)
    saveAnchor(newMark, store: view.head.store)
    try confirm(newMark, in: mark, chainKey: keys.chainKey) { open in
      view.append(sealed.entries[...], to: sealed.end)
      view.fileByteCount = max(fileByteCount, newByteCount)
      open.furthest = newMark
    }
    watcher.ownChangeWasMade(in: self)
  }

  /// Writes the mark, which makes a change count, and takes the change over into the state: no
  /// thread of this process sees the one without the other.
  ///
  /// - Throws: `outcomeUnknown`: the change is on the disk, and the next use finds out whether it
  ///   counts.
  func confirm(
    _ newMark: Mark, in mark: OpenMark, chainKey: KeyBytes, _ takeOver: (inout OpenState) -> Void
  ) throws(StoreError) {
    try state.withLock { slot throws(StoreError) in
      do throws(StoreError) {
        try mark.write(newMark, chainKey: chainKey)
      } catch {
        // swift-format-ignore: NeverForceUnwrap
        if slot != nil { slot!.discardJournal(error) }
        throw unconfirmed(error)
      }
      // The store may have been locked meanwhile.
      // swift-format-ignore: NeverForceUnwrap
      if slot != nil { takeOver(&slot!) }
    }
  }

  /// What to throw when the mark of a change could not be written.
  func unconfirmed(_ error: StoreError) -> StoreError {
    StoreError(
      StoreError.outcomeUnknown, store: path,
      reason: "the change is on the disk, but could not be confirmed: \(error.reason)",
      remedy: "Read what is there, and look at the disk's health", errno: error.errno)
  }

  /// Keeps elsewhere how far the journal is confirmed.
  ///
  /// The change before is durable already, so failing here fails nothing.
  func saveAnchor(_ mark: Mark, store: StoreIdentifier) {
    do throws(StoreError) {
      try options.anchor?.keep(StoreAnchor(store: store, marks: [mark]), path: path)
    } catch {
      options.onNotice?(.anchorNotSaved(error.reason))
    }
  }

  /// A change that could not be written.
  private struct FailedWrite: Error {
    let error: StoreError
    /// Whether what was written of it is certainly gone.
    let isCutOff: Bool
  }

  /// Writes a change; without its reserve when there is no space for that.
  ///
  /// - Returns: How long the file is at least.
  private func write(
    _ sealed: SealedChange, to file: OpenFile, at end: Int
  ) throws(FailedWrite) -> Int {
    var written = 0
    do throws(StoreError) {
      return try sealed.write(to: file, withReserve: true, written: &written)
    } catch {
      guard cutOff(file, at: end) else {
        // Where only the reserve is missing, the next process finds a whole change.
        let isWhole = written >= sealed.end.byteCount - end
        throw FailedWrite(error: isWhole ? notCutOff(error) : error, isCutOff: false)
      }
      guard error.code == StoreError.noSpace, sealed.hasReserve else {
        throw FailedWrite(error: error, isCutOff: true)
      }
    }
    do throws(StoreError) {
      return try sealed.write(to: file, withReserve: false, written: &written)
    } catch {
      throw FailedWrite(error: error, isCutOff: cutOff(file, at: end))
    }
  }

  private func notCutOff(_ error: StoreError) -> StoreError {
    StoreError(
      StoreError.outcomeUnknown, store: path,
      reason: "the change was written, but not the room behind it, and could not be cut off: "
        + error.reason,
      remedy: "Read what is there, and look at the disk's health", errno: error.errno)
  }

  /// Cuts off what was written of a change that failed; whether that is durable.
  ///
  /// The cut has to be on the disk before the next change is written in its place: otherwise a
  /// power cut could leave the beginning of that one in front of records of this one. If the
  /// cut fails, the next writer settles what is there.
  private func cutOff(_ file: OpenFile, at end: Int) -> Bool {
    do throws(StoreError) {
      try file.truncate(to: end)
      try file.synchronizeData()
      return true
    } catch {
      return false
    }
  }

  /// The records a list of changes is written as: removals of absent items are none.
  private func records(
    of changes: [StoreChange], _ keys: KeyRing
  ) throws(StoreError) -> [UnsealedRecord] {
    var records: [UnsealedRecord] = []
    records.reserveCapacity(changes.count)
    // What a removal removes is asked for only if there is one.
    let removed = try recordByteCounts(ofRemovedBy: changes, keys)
    var putHere: [StoreKey: Int] = [:]
    for change in changes {
      switch change {
      case .put(let value, for: let key):
        let record = UnsealedRecord(value, for: key)
        if !removed.isEmpty { putHere[key] = record.lengths.record }
        records.append(record)
      case .remove(let key):
        guard let byteCount = putHere.removeValue(forKey: key) ?? removed[key] ?? nil else {
          continue
        }
        records.append(UnsealedRecord(removing: key, recordByteCount: byteCount))
      }
    }
    return records
  }

  /// For each item that changes remove the length of its record; `nil` when there is none.
  private func recordByteCounts(
    ofRemovedBy changes: [StoreChange], _ keys: KeyRing
  ) throws(StoreError) -> [StoreKey: Int?] {
    let removals = changes.compactMap { change in
      if case .remove(let key) = change { key } else { nil as StoreKey? }
    }
    guard !removals.isEmpty else { return [:] }
    let tags = removals.map { ($0, ItemTag(of: $0, tagKey: keys.tagKey)) }
    return try withState { open throws(StoreError) in
      let index = try open.usableJournal().index
      return Dictionary(
        tags.map { ($0, index[$1]?.recordByteCount) }, uniquingKeysWith: { first, _ in first })
    }
  }

  /// Changes the state if the store was not locked meanwhile.
  func withStateIfOpen(_ body: (inout OpenState) -> Void) {
    state.withLock { slot in
      // swift-format-ignore: NeverForceUnwrap
      if slot != nil { body(&slot!) }
    }
  }
}

extension StoreChange {
  /// What the change takes in the journal at the most.
  var recordByteCount: Int {
    let valueByteCount =
      switch self {
      case .put(let value, _): value.byteCount
      case .remove: Padding.largestRemoval - 4
      }
    return RecordLengths(keyByteCount: key.canonicalByteCount, valueByteCount: valueByteCount)
      .record
  }
}
