public import SecretStores
import Synchronization

extension SealedFileStore {
  /// Makes changes, all or none, which are durable when this returns.
  ///
  /// It blocks for one write and one sync, and for as long as another process writes. Changes that
  /// other threads make meanwhile share the next write and sync.
  ///
  /// - Throws: `locked`; `valueTooLarge` above 16 MiB for a value or 1 GiB of the journal for
  ///   all, `noSpace` or `timedOut`, and nothing was changed; `corrupt` when the journal is
  ///   damaged; `outcomeUnknown` when the disk did not confirm the change: it may or may not be
  ///   there afterwards, and the next use reads the file again; `accessDenied` or `io`.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    guard !changes.isEmpty else { return }
    _ = try submit(CommitRequest(changes))
  }

  /// Makes changes, all or none, if the stored item meets a condition.
  ///
  /// It shares writes and syncs as ``apply(_:)`` does. Nothing is written when the condition is not
  /// met.
  ///
  /// - Returns: Whether they were made.
  /// - Throws: As ``apply(_:)``; `corrupt` also when the record of the item was changed.
  package func apply(
    _ changes: [StoreChange], if condition: ItemCondition
  ) throws(StoreError) -> ChangeOutcome {
    try submit(CommitRequest(changes, condition))
  }

  /// Checks that a value of this size can be stored: in the journal's reserve, or otherwise on the
  /// disk.
  package func checkRoom(forValueOf byteCount: Int) throws(StoreError) {
    let isReserved = try withCurrentState { open throws(StoreError) in
      let view = try open.usableJournal()
      return view.fileByteCount - view.end.byteCount >= byteCount
    }
    if !isReserved { try directory.checkRoom(for: byteCount) }
  }

  private func submit(_ request: CommitRequest) throws(StoreError) -> ChangeOutcome {
    let byteCount = try checkedByteCount(of: request.changes)
    // The fork check comes before the queue, at which a thread of the parent may have been.
    try checkIsOpen()
    return try commits.submit(request, byteCount: byteCount, to: self)
  }

  /// Makes the changes of a request durable if its condition is met.
  ///
  /// - Throws: As ``apply(_:)``.
  func commit(_ request: CommitRequest) throws(StoreError) -> ChangeOutcome {
    try committing { writer throws(StoreError) in
      let outcome = try writer.outcome(of: request, after: [])
      return (outcome, outcome == .made ? try writer.commit(request.changes) : false)
    }
  }

  /// Makes the changes of those of some requests whose conditions are met durable, all or none.
  ///
  /// A condition is compared with what the requests before it leave.
  ///
  /// - Returns: The outcome of each request, or why its item could not be read.
  /// - Throws: As ``apply(_:)``.
  func commit(
    _ requests: [CommitRequest]
  ) throws(StoreError) -> [Result<ChangeOutcome, StoreError>] {
    try committing { writer throws(StoreError) in
      var accepted: [StoreChange] = []
      var outcomes: [Result<ChangeOutcome, StoreError>] = []
      for request in requests {
        do throws(StoreError) {
          let outcome = try writer.outcome(of: request, after: accepted)
          if outcome == .made { accepted += request.changes }
          outcomes.append(.success(outcome))
        } catch {
          outcomes.append(.failure(error))
        }
      }
      return (outcomes, try writer.commit(accepted))
    }
  }

  /// Makes a change, and compacts the journal later if that is due.
  private func committing<Outcome: Sendable>(
    _ commit: (inout StoreWriter) throws(StoreError) -> (Outcome, isCompactionDue: Bool)
  ) throws(StoreError) -> Outcome {
    let (outcome, isCompactionDue) = try writing(isChange: true, commit)
    if isCompactionDue { compactLater() }
    return outcome
  }

  /// Returns how many bytes changes take in the journal, if they are not too large.
  private func checkedByteCount(of changes: [StoreChange]) throws(StoreError) -> Int {
    var total = 0
    // Used in place: bound to a name, each change would be copied.
    let changes = changes.span
    for place in changes.indices {
      let valueByteCount = changes[place].valueByteCount
      guard valueByteCount <= Self.maximumValueByteCount else {
        throw StoreError(
          .valueTooLarge, store: path,
          reason: "the value for \(changes[place].name) has \(valueByteCount) bytes",
          remedy: "A value has at most \(Self.maximumValueByteCount) bytes")
      }
      total += changes[place].maximumRecordByteCount
    }
    guard total <= Self.maximumChangeByteCount else {
      throw StoreError(
        .valueTooLarge, store: path,
        reason: "one change would take \(total) bytes of the journal",
        remedy: "Make several changes of at most \(Self.maximumChangeByteCount) bytes")
    }
    return total
  }

  /// Changes the state if the store was not locked meanwhile.
  func withStateIfOpen(_ body: (inout OpenState) -> Void) {
    state.withLock { slot in
      // swift-format-ignore: NeverForceUnwrap
      if slot != nil { body(&slot!) }
    }
  }
}

extension StoreWriter {
  /// Compares the condition of a request, if it has one.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - accepted: Changes that are made before it, and not written yet.
  /// - Returns: `made` when its changes are to be made.
  /// - Throws: `locked`, `corrupt` or `io`.
  fileprivate func outcome(
    of request: CommitRequest, after accepted: [StoreChange]
  ) throws(StoreError) -> ChangeOutcome {
    guard let condition = request.condition else { return .made }
    switch accepted.last(where: { $0.name == condition.name }) {
    case .put(let value, _): return condition.outcome(whenStored: value)
    case .remove: return condition.outcomeWithoutItem
    case nil: return condition.outcome(whenStored: try store.preparedValue(for: condition.name))
    }
  }

  /// Makes changes durable, and returns whether the journal should be compacted after them.
  fileprivate mutating func commit(_ changes: [StoreChange]) throws(StoreError) -> Bool {
    let (view, mark, end, fileByteCount, keys) = try store.withState { open throws(StoreError) in
      let view = try open.usableJournal()
      guard let mark = open.mark else { throw loader.corrupt("the mark is missing") }
      open.keys.beginUse()
      return (view, mark, view.end, view.fileByteCount, open.keys)
    }
    defer { keys.endUse() }
    let written = try records(of: changes, keys)
    guard !written.isEmpty else { return false }
    do throws(StoreError) {
      // This is checked before anything is written: a change without its mark would count later.
      try view.file.checkIsWritable()
      try mark.file.checkIsWritable()
    } catch {
      // The next use opens the files again, and may be allowed to write.
      store.withStateIfOpen { $0.discardJournal(error) }
      throw error
    }

    // `view` is only read under the state's lock, except for file and head, which never change.
    let sealed = SealedChange(
      of: written, journal: view.head.journal, after: end, fileByteCount: fileByteCount,
      keys: keys, memory: sealingMemory())
    let newByteCount: Int
    do throws(FailedWrite) {
      newByteCount = try write(sealed, to: view.file, at: end.byteCount)
    } catch {
      store.withStateIfOpen { open in
        view.fileByteCount = end.byteCount
        // The next use reads the file again, through another descriptor, whose syncs are reliable.
        if !error.isCutOff { open.discardJournal(error.error) }
      }
      throw error.error
    }
    do throws(StoreError) {
      try view.file.synchronizeData()
    } catch {
      // This descriptor is never synced again: the kernel may have marked the lost pages as clean.
      store.withStateIfOpen { $0.discardJournal(error) }
      throw error
    }
    let newMark = Mark(journal: view.head.journal, position: sealed.end)
    saveAnchor(newMark, store: view.head.store)
    var isCompactionDue = false
    try confirm(newMark, in: mark, chainKey: keys.chainKey) { open in
      view.append(sealed.entries[...], to: sealed.end)
      view.fileByteCount = max(fileByteCount, newByteCount)
      open.furthest = newMark
      isCompactionDue = store.isCompactionDue(afterChangeOf: view)
    }
    store.watcher.ownChangeWasMade(in: store)
    return isCompactionDue
  }

  /// Writes the mark, which makes a change count, and takes the change over into the state: no
  /// thread of this process sees the one without the other.
  ///
  /// - Throws: `outcomeUnknown`: the change is on the disk, and the next use finds out whether it
  ///   counts.
  func confirm(
    _ newMark: Mark, in mark: OpenMark, chainKey: KeyBytes, _ takeOver: (inout OpenState) -> Void
  ) throws(StoreError) {
    try store.state.withLock { slot throws(StoreError) in
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

  /// Returns the error for a change whose mark could not be written.
  func unconfirmed(_ error: StoreError) -> StoreError {
    StoreError(
      .outcomeUnknown, store: path,
      reason: "the change is on the disk, but could not be confirmed: \(error.reason)",
      remedy: "Check the store's content, and check the disk's health", errno: error.errno)
  }

  /// Saves an anchor of how far the journal is confirmed.
  ///
  /// The change is durable already, so a failure here is only a notice.
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
    /// Whether the written part of it was certainly cut off.
    let isCutOff: Bool
  }

  /// Writes a change; without its reserve when there is no space for that.
  ///
  /// - Returns: The length that the file has at least.
  private func write(
    _ sealed: SealedChange, to file: OpenFile, at end: Int
  ) throws(FailedWrite) -> Int {
    var written = 0
    do throws(StoreError) {
      return try sealed.write(to: file, withReserve: true, written: &written)
    } catch {
      guard cutOff(file, at: end) else {
        // If only the reserve is missing, the next process finds a whole change.
        let isWhole = written >= sealed.end.byteCount - end
        throw FailedWrite(error: isWhole ? notCutOff(error) : error, isCutOff: false)
      }
      guard error.code == .noSpace, sealed.hasReserve else {
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
      .outcomeUnknown, store: path,
      reason: "the change was written, but not the reserve behind it, and could not be undone: "
        + error.reason,
      remedy: "Check the store's content, and check the disk's health", errno: error.errno)
  }

  /// Cuts off the written part of a change that failed, and returns whether the cut is durable.
  ///
  /// The cut must be on the disk before the next change is written in the same place: otherwise a
  /// power cut could leave the beginning of that one in front of records of this one. If the cut
  /// fails, the next writer recovers what is there.
  private func cutOff(_ file: OpenFile, at end: Int) -> Bool {
    do throws(StoreError) {
      try file.truncate(to: end)
      try file.synchronizeData()
      return true
    } catch {
      return false
    }
  }

  /// Returns the records of a list of changes; the removal of an absent item has no record.
  private func records(
    of changes: [StoreChange], _ keys: KeyRing
  ) throws(StoreError) -> [UnsealedRecord] {
    // The index is searched for removed items only if there are removals.
    guard changes.contains(where: \.isRemoval) else { return changes.map { UnsealedRecord($0) } }
    let removed = try recordByteCounts(ofRemovedBy: changes, keys)
    var putHere: [ItemName: Int] = [:]
    return changes.compactMap { change in
      switch change {
      case .put(_, for: let name):
        let record = UnsealedRecord(change)
        putHere[name] = record.lengths.record
        return record
      case .remove(let name):
        let byteCount: Int? = putHere.removeValue(forKey: name) ?? removed[name] ?? nil
        return byteCount.map { UnsealedRecord(change, removing: $0) }
      }
    }
  }

  /// Returns the length of the record of each item that is removed; `nil` for an absent item.
  private func recordByteCounts(
    ofRemovedBy changes: [StoreChange], _ keys: KeyRing
  ) throws(StoreError) -> [ItemName: Int?] {
    let tags = changes.filter(\.isRemoval).map {
      ($0.name, ItemTag(of: $0.name, tagKey: keys.tagKey))
    }
    return try store.withState { open throws(StoreError) in
      let index = try open.usableJournal().index
      return Dictionary(
        tags.map { ($0, index[$1]?.recordByteCount) }, uniquingKeysWith: { first, _ in first })
    }
  }
}

extension StoreChange {
  fileprivate var isRemoval: Bool {
    if case .remove = self { true } else { false }
  }

  /// The length of the value; the largest that a removal stands for.
  fileprivate var valueByteCount: Int {
    switch self {
    case .put(let value, _): value.byteCount
    case .remove: Padding.maximumRemoval - 4
    }
  }

  /// The largest number of bytes that the change takes in the journal.
  var maximumRecordByteCount: Int {
    RecordLengths(nameByteCount: name.canonicalByteCount, valueByteCount: valueByteCount).record
  }
}
