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
    try checkSizes(changes)
    try commits.submit(changes) { changes throws(StoreError) in
      try self.writing { writer throws(StoreError) in
        try self.commit(changes, &writer)
        self.compactIfDue(&writer)
      }
    }
  }

  private func checkSizes(_ changes: [StoreChange]) throws(StoreError) {
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
  }

  private func commit(
    _ changes: [StoreChange], _ writer: inout WriterState
  ) throws(StoreError) {
    let (view, end, keys) = try withState { open throws(StoreError) in
      let view = try open.usableJournal()
      open.keys.beginUse()
      return (view, view.end, open.keys)
    }
    defer { keys.endUse() }
    let written = try records(of: changes, keys)
    guard !written.isEmpty else { return }

    // `view` is only looked into under the state's lock; file and head never change.
    var sealer = RecordSealer(
      journal: view.head.journal, position: end, keys: keys,
      nonces: NonceSupply(written.count, random: environment.random))
    let byteCount = written.reduce(0) { $0 + RecordPrefix.byteCount + $1.sealedByteCount }
    let buffer = ByteBuffer(byteCount: byteCount)
    var entries: [(entry: ItemIndex.Entry, isRemoved: Bool)] = []
    entries.reserveCapacity(written.count)
    var offset = 0
    for (position, record) in written.enumerated() {
      var flags: RecordFlags = position == 0 ? .first : []
      if position == written.count - 1 { flags.insert(.last) }
      let entry = record.seal(in: buffer, at: offset, flags: flags, &sealer, nameKey: keys.nameKey)
      entries.append((entry, record.isRemoval))
      offset += entry.recordByteCount
    }

    withStateIfOpen { $0.lengthInFlight = end.byteCount + byteCount }
    do throws(StoreError) {
      try view.file.write(buffer, 0..<buffer.byteCount, at: end.byteCount)
    } catch {
      let isCutOff = cutOff(view.file, at: end.byteCount)
      withStateIfOpen { open in
        open.lengthInFlight = nil
        // Read anew through another descriptor, whose syncs tell the truth.
        if !isCutOff { open.journal = .failure(error) }
      }
      throw error
    }
    do throws(StoreError) {
      try view.file.synchronizeData()
    } catch {
      // Never synced again through this descriptor: the kernel may call the lost pages clean.
      withStateIfOpen { open in
        open.lengthInFlight = nil
        open.journal = .failure(error)
      }
      throw error
    }
    let newEnd = sealer.position
    withStateIfOpen { open in
      open.lengthInFlight = nil
      guard view.end == end else { return }
      for (entry, isRemoved) in entries {
        view.apply(entry, isRemoved: isRemoved)
      }
      view.end = newEnd
      view.confirmedByteCount = newEnd.byteCount
    }
    let mark = Mark(journal: view.head.journal, position: newEnd)
    tellConfirmed(mark, of: view.head.store, keys, &writer)
    watcher.ownChangeWasMade(in: self)
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
      guard var open = slot.take() else { return }
      body(&open)
      slot = open
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

/// A record before it is sealed.
private struct UnsealedRecord {
  let key: StoreKey
  let value: SecretBytes?
  private let keyByteCount: Int
  let sealedByteCount: Int

  init(_ change: StoreChange) {
    switch change {
    case .put(let value, for: let key):
      self.key = key
      self.value = value
    case .remove(let key):
      self.key = key
      value = nil
    }
    keyByteCount = key.canonicalByteCount
    sealedByteCount = RecordPlaintext.sealedByteCount(
      keyByteCount: keyByteCount, valueByteCount: value?.byteCount ?? 0)
  }

  var isRemoval: Bool { value == nil }

  func tag(nameKey: KeyBytes) -> ItemTag {
    ItemTag(of: key, nameKey: nameKey)
  }

  /// Writes the plaintext into a buffer of zeros and seals it there.
  func seal(
    in buffer: ByteBuffer, at offset: Int, flags: RecordFlags, _ sealer: inout RecordSealer,
    nameKey: KeyBytes
  ) -> ItemIndex.Entry {
    let plaintext = offset + RecordPrefix.byteCount + Sodium.nonceByteCount
    let keyRange = plaintext + 8..<plaintext + 8 + keyByteCount
    buffer.store(UInt32(keyByteCount), at: plaintext)
    buffer.store(UInt32(value?.byteCount ?? 0), at: plaintext + 4)
    key.storeCanonical(in: buffer, at: keyRange.lowerBound)
    if let value { buffer.copy(value, to: keyRange.upperBound) }
    let tag = ItemTag(bytes: Sodium.hash16(buffer, keyRange, key: nameKey))
    return sealer.seal(
      buffer, at: offset, sealedByteCount: sealedByteCount,
      flags: isRemoval ? flags.union(.removed) : flags, tag: tag)
  }
}
