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
      try self.writing { writer throws(StoreError) in
        try self.commit(changes, &writer)
        self.compactIfDue(&writer)
      }
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
    let (view, end, fileByteCount, keys) = try withState { open throws(StoreError) in
      let view = try open.usableJournal()
      open.keys.beginUse()
      return (view, view.end, view.fileByteCount, open.keys)
    }
    defer { keys.endUse() }
    let written = try records(of: changes, keys)
    guard !written.isEmpty else { return }

    // `view` is only looked into under the state's lock; file and head never change.
    let sealed = SealedChange(
      of: written, journal: view.head.journal, after: end, fileByteCount: fileByteCount,
      keys: keys, memory: writer.sealingMemory(environment.random))
    withStateIfOpen { $0.isWriting = true }
    let newByteCount: Int
    do throws(StoreError) {
      newByteCount = try write(sealed, to: view.file, at: end.byteCount)
    } catch {
      let isCutOff = cutOff(view.file, at: end.byteCount)
      withStateIfOpen { open in
        open.isWriting = false
        view.fileByteCount = end.byteCount
        // Read anew through another descriptor, whose syncs tell the truth.
        if !isCutOff { open.journal = .unusable(error) }
      }
      throw error
    }
    do throws(StoreError) {
      try view.file.synchronizeData()
    } catch {
      // Never synced again through this descriptor: the kernel may call the lost pages clean.
      withStateIfOpen { open in
        open.isWriting = false
        open.journal = .unusable(error)
      }
      throw error
    }
    withStateIfOpen { open in
      open.isWriting = false
      guard view.end == end else { return }
      for (entry, isRemoved) in sealed.entries {
        view.apply(entry, isRemoved: isRemoved)
      }
      view.end = sealed.end
      view.fileByteCount = max(fileByteCount, newByteCount)
      view.confirmedByteCount = sealed.end.byteCount
    }
    let mark = Mark(journal: view.head.journal, position: sealed.end)
    tellConfirmed(mark, of: view.head.store, keys, &writer)
    watcher.ownChangeWasMade(in: self)
  }

  /// Writes a change; without its reserve when there is no space for that.
  ///
  /// - Returns: How long the file is at least.
  /// - Throws: `noSpace`, `accessDenied` or `io`; a part may have been written then.
  private func write(
    _ sealed: SealedChange, to file: OpenFile, at end: Int
  ) throws(StoreError) -> Int {
    do throws(StoreError) {
      return try sealed.write(to: file, withReserve: true)
    } catch let error where error.code == StoreError.noSpace && sealed.hasReserve {
      guard cutOff(file, at: end) else { throw error }
      return try sealed.write(to: file, withReserve: false)
    }
  }

  /// Cuts off what was written of a change that failed; whether that is durable.
  ///
  /// The cut has to be on the disk before the next change is written in its place: otherwise a
  /// power cut could leave the beginning of that one in front of records of this one. If the
  /// cut fails, the next writer does it: a change without its last record counts for nothing.
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
    var removals: [(position: Int, tag: ItemTag)] = []
    for change in changes {
      let record = UnsealedRecord(change)
      if record.isRemoval { removals.append((records.count, record.tag(nameKey: keys.nameKey))) }
      records.append(record)
    }
    guard !removals.isEmpty else { return records }

    let putHere = Set(records.lazy.filter { !$0.isRemoval }.map(\.key))
    let needless = try withState { open throws(StoreError) in
      let view = try open.usableJournal()
      return Set(
        removals.filter { view.index[$0.tag] == nil && !putHere.contains(records[$0.position].key) }
          .map(\.position))
    }
    return records.enumerated().filter { !needless.contains($0.offset) }.map(\.element)
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
  /// What the change takes in the journal.
  var recordByteCount: Int {
    var valueByteCount = 0
    if case .put(let value, _) = self { valueByteCount = value.byteCount }
    return RecordPrefix.byteCount
      + RecordPlaintext.sealedByteCount(
        keyByteCount: key.canonicalByteCount, valueByteCount: valueByteCount)
  }
}
