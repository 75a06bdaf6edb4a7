import SecretStores

/// Recovery of the part behind the mark: whole changes count from then on, and the remains of an
/// interrupted one are dropped permanently.
extension StoreLoader {
  /// Recovers the part behind the mark of a journal that is sound up to the mark.
  ///
  /// - Parameters:
  ///   - state: The store as it was read.
  ///   - hold: The caller's hold of the writer's lock.
  ///   - last: The store as it was last seen.
  /// - Returns: Whether the state can be used; `false` when the lock is needed for that.
  /// - Throws: `corrupt`, `accessDenied`, `noSpace`, `outcomeUnknown` or `io`.
  func recover(
    _ state: inout OpenState, holding hold: WriterHold, after last: LastSeen
  ) throws(StoreError) -> Bool {
    guard case .usable(let view) = state.journal, let mark = state.mark else { return true }
    view.fileByteCount = try view.file.status().byteCount
    switch hold {
    case .none:
      // A process that wrote a later mark than was seen before is alive, and recovered before it
      // wrote. (A mark with a lower version was put back, or the disk lost a later one.)
      let isNews = last.mark.map { Mark.version(of: $0) < view.mark.version } ?? false
      let behind = view.end.byteCount..<max(view.fileByteCount, view.end.byteCount)
      if isNews { break }
      guard behind.count <= UnmarkedPart.maximumRemainsByteCount,
        try view.file.startOfTrailingZeros(in: behind) == behind.lowerBound
      else { return false }
    case .shared:
      try recoverForReading(view, keys: state.keys)
    case .exclusive:
      do throws(StoreError) {
        try recover(view, mark, keys: state.keys, after: last)
      } catch {
        guard error.code == .accessDenied || error.code == .noSpace else {
          throw error.ofPreparation
        }
        try recoverForReading(view, keys: state.keys)
      }
    }
    return try judge(&state, view, holding: hold, after: last)
  }

  /// Refuses a journal that is older than what was seen or anchored.
  private func judge(
    _ state: inout OpenState, _ view: JournalView, holding hold: WriterHold, after last: LastSeen
  ) throws(StoreError) -> Bool {
    if view.damage != nil {
      state.furthest = last.furthest ?? view.mark
      return true
    }
    state.furthest = view.mark
    let isAnchored = view.anchors.arePassed
    let isLater = view.seen.arePassed && last.accepts(view.mark)
    if isAnchored && isLater { return true }
    if hold == .none { return false }
    if !isLater {
      state.furthest = last.furthest
      state.journal = .unusable(
        StoreError(
          .corrupt, store: directory.path,
          reason: "the store's files are older than what was read from them before",
          remedy: "If they were restored from a backup, open the store again"))
    } else {
      view.damage = .notAnchored
    }
    return true
  }

  /// Returns the positions that a journal must pass according to the anchor.
  ///
  /// - Throws: The errors of the anchor's keeper.
  func anchors(of head: JournalHead) throws(StoreError) -> ExpectedPositions {
    guard let anchor = try options.anchor?.anchor(path: directory.path) else { return .none }
    let marks = anchor.marks.filter { $0.journal == head.journal }
    guard anchor.store == head.store, !marks.isEmpty else { return .impossible }
    return ExpectedPositions(marks)
  }

  /// Recovers as the only writer.
  private func recover(
    _ view: JournalView, _ mark: OpenMark, keys: KeyRing, after last: LastSeen
  ) throws(StoreError) {
    let part = try UnmarkedPart(behind: view, fileByteCount: view.fileByteCount, keys: keys)
    if let offset = part.damageOffset {
      view.damage = Damage("there is a change where no crash leaves one,", at: offset)
      return
    }
    guard !part.isVacant else { return }
    // A change in an anchor was confirmed, and is not dropped as the remains of an unconfirmed one.
    guard view.anchors.arePassed(after: part.changeEnds) else { return }
    // Nor are the remains in a journal that does not continue from what was read before: the void
    // change in their place would make up for a change that is missing.
    guard view.seen.arePassed(after: part.changeEnds) else { return }
    let reached = Mark(journal: view.head.journal, position: part.changeEnds.last ?? view.end)
    guard last.accepts(reached) else { return }
    // This is checked before anything is written, as for a change.
    for file in [view.file, mark.file] { try file.checkIsWritable() }
    if let (offset, bytes) = part.lastChange {
      // After a failed sync the kernel marks lost pages as clean: a sync alone would do nothing,
      // and reading them again could return other bytes.
      try view.file.write(bytes, 0..<bytes.byteCount, at: offset)
      try view.file.synchronizeData()
    }
    part.append(to: view)
    if part.remainsByteCount > 0 {
      try dropRemains(behind: view, keys: keys)
      options.onNotice?(.unfinishedWriteDropped(byteCount: part.remainsByteCount))
    }
    if !view.isNameDurable {
      // The process that renamed the journal may have died before it synced the directory.
      try directory.synchronize()
      view.isNameDurable = true
    }
    try mark.write(view.mark, chainKey: keys.chainKey)
    if part.hasChanges { options.onNotice?(.interruptedChangeFinished) }
  }

  /// Replaces the remains of an interrupted write by a void change, so that no one who kept their
  /// bytes can put them back.
  private func dropRemains(behind view: JournalView, keys: KeyRing) throws(StoreError) {
    let void = SealedChange(
      of: [.void], journal: view.head.journal, after: view.end, fileByteCount: view.end.byteCount,
      keys: keys, memory: SealingMemory(random: environment.random))
    try view.file.truncate(to: view.end.byteCount)
    var written = 0
    do throws(StoreError) {
      view.fileByteCount = try void.write(to: view.file, withReserve: true, written: &written)
    } catch let error where error.code == .noSpace {
      view.fileByteCount = try void.write(to: view.file, withReserve: false, written: &written)
    }
    try view.file.synchronizeData()
    view.append(void.entries[...], to: void.end)
  }

  /// Counts the changes that are certainly on the disk, for this process only, when nothing can be
  /// written.
  private func recoverForReading(_ view: JournalView, keys: KeyRing) throws(StoreError) {
    let behind = view.end.byteCount..<max(view.fileByteCount, view.end.byteCount)
    guard try view.file.startOfTrailingZeros(in: behind) > behind.lowerBound else { return }
    do throws(StoreError) {
      try view.file.synchronizeData()
    } catch {
      throw error.ofPreparation
    }
    let onDisk = try durableByteCount(of: view.file, in: behind)
    let part = try UnmarkedPart(behind: view, fileByteCount: onDisk, keys: keys)
    if let offset = part.damageOffset {
      view.damage = Damage("there is a change where no crash leaves one,", at: offset)
    } else {
      part.append(to: view)
    }
  }

  /// Returns up to where the page cache is the same as the disk.
  ///
  /// After a failed sync it may hold more than the disk.
  private func durableByteCount(
    of file: OpenFile, in range: Range<Int>
  ) throws(StoreError) -> Int {
    do throws(StoreError) {
      guard let direct = try directory.open(StoreFile.journal, .readDirect) else {
        return range.lowerBound
      }
      return try file.startOfDifference(from: direct, in: range)
    } catch let error where error.errno == SystemCallError.invalidArgument {
      // The file system does not support direct reads.
      guard try file.isCacheAuthoritative() else { throw error }
      return range.upperBound
    }
  }
}

extension StoreError {
  /// The error as one of the preparation of a change, which failed and changed nothing.
  var ofPreparation: StoreError {
    guard code == StoreError.outcomeUnknown, let errno else { return self }
    return StoreError(SystemCallError("sync", errno), path: store)
  }
}
