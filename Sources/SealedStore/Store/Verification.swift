public import SecretStores
import Synchronization

extension SealedFileStore {
  /// Reads every byte of the store, opens every record, and reports everything that differs from
  /// what a writer leaves.
  ///
  /// This changes only what every opening recovers: an interrupted change counts from then on, or
  /// is dropped. It takes the writer's lock for that, and when something is wrong.
  ///
  /// - Parameter progress: Receives the number of bytes of the journal that are done.
  /// - Returns: The findings. Damage is a finding and not an error.
  /// - Throws: `locked`, `wrongKey` when the keys were replaced meanwhile, `corrupt` when
  ///   neither header nor copy can be used, `unsupportedVersion`, `unsafePermissions`,
  ///   `timedOut` when another process holds the lock for too long, `accessDenied` or `io`.
  public func verify(progress: Progress? = nil) throws(StoreError) -> VerificationReport {
    try verify(holding: .none, progress: progress)
  }

  /// Verifies for a caller that may hold the writer's lock.
  func verify(
    holding hold: WriterHold, progress: Progress? = nil
  ) throws(StoreError) -> VerificationReport {
    let found = try loaded(holding: hold, by: loader)
    defer { found.keys.endUse() }
    var verifier = Verifier(directory: directory, open: found.state)
    return try verifier.report(progress: progress)
  }

  /// Returns an anchor of the store as it is now, to be kept elsewhere and compared later by
  /// ``check(_:)``.
  ///
  /// - Throws: `locked`, `corrupt`, `unsafePermissions`, `accessDenied` or `io`.
  public func anchor() throws(StoreError) -> StoreAnchor {
    let found = try loaded(holding: .none, by: loader)
    defer { found.keys.endUse() }
    return StoreAnchor(
      store: found.state.header.store, marks: [try found.state.soundJournal(in: directory).mark])
  }

  /// Reads the whole journal, and checks that the store is not older than an anchor.
  ///
  /// An anchor that is not saved with every change shows only that the store is at least as new as
  /// the anchor, not that it is the newest state. If the journal was replaced since, by compacting
  /// or rotating, only the numbers of changes are compared.
  ///
  /// - Throws: `corrupt` when the store is older, or another one; otherwise as ``anchor()``.
  public func check(_ anchor: StoreAnchor) throws(StoreError) {
    let now = try self.anchor()
    guard now.store == anchor.store else {
      throw StoreError(
        .corrupt, store: path, reason: "the anchor is that of another store",
        remedy: "Name the store of the anchor, or the anchor of the store")
    }
    // A journal that replaced the anchored one began with all of its changes.
    let marks = anchor.marks.filter { $0.journal == now.marks.last?.journal }
    guard !marks.isEmpty else {
      guard now.version >= anchor.version else {
        throw Damage.notAnchored.error(in: directory)
      }
      return
    }
    var options = self.options
    let known = StoreAnchor(store: anchor.store, marks: marks)
    options.anchor = StoreAnchor.Keeper(load: { known }, save: { _ in })
    let found = try loaded(
      holding: .none, by: StoreLoader(directory, options, environment))
    defer { found.keys.endUse() }
    _ = try found.state.soundJournal(in: directory)
  }

  /// The state that was read from the files, and its keys, whose use was begun.
  private struct LoadedState: Sendable {
    let state: OpenState
    let keys: KeyRing
  }

  /// Reads the files, with the writer's lock if it is needed.
  private func loaded(
    holding hold: WriterHold, by loader: StoreLoader
  ) throws(StoreError) -> LoadedState {
    var seen: [UInt8]?
    while true {
      if let found = try load(holding: hold, by: loader, after: seen) { return found }
      // If another process writes a later mark meanwhile, what is behind that one needs no lock.
      seen = try loader.markBytes()
      let found = try recovering(unlessMarkIsNot: seen) { hold throws(StoreError) in
        try load(holding: hold, by: loader, after: nil)
      }
      if let found { return found }
    }
  }

  /// Reads the files; `nil` when that needs the writer's lock.
  ///
  /// The keys are not in use while a caller waits for that lock: a rotation that holds the lock
  /// waits for all uses of the old keys.
  private func load(
    holding hold: WriterHold, by loader: StoreLoader, after mark: [UInt8]?
  ) throws(StoreError) -> LoadedState? {
    let (keys, slot, furthest) = try withState { open in
      open.keys.beginUse()
      return (open.keys, open.slot, open.furthest)
    }
    var search = KeySearch(by: .keys(keys), slot: slot)
    do throws(StoreError) {
      if let state = try loader.load(
        &search, holding: hold, after: LastSeen(furthest: furthest, mark: mark))
      {
        return LoadedState(state: state, keys: keys)
      }
    } catch {
      keys.endUse()
      throw error
    }
    keys.endUse()
    return nil
  }
}

/// A collector of the findings of a verification.
private struct Verifier {
  let directory: PrivateDirectory
  let open: OpenState
  var findings: [VerificationReport.Finding] = []

  init(directory: PrivateDirectory, open: OpenState) {
    self.directory = directory
    self.open = open
  }

  mutating func report(
    progress: SealedFileStore.Progress?
  ) throws(StoreError) -> VerificationReport {
    try checkHeaders()
    try checkOtherFiles()
    let view: JournalView
    do throws(StoreError) {
      view = try open.usableJournal()
    } catch let error where error.code == .corrupt {
      add(.journal, error.reason, isDamage: true)
      let byteCount = try directory.status(of: StoreFile.journal)?.byteCount ?? 0
      return VerificationReport(
        findings: findings, damagedItems: [], repairableItems: [],
        isRepairable: byteCount >= JournalHead.byteCount, itemCount: 0, recordCount: 0,
        liveByteCount: 0, journalByteCount: byteCount)
    }
    try checkMark(of: view)
    // The survey continues behind a break, so that the items there can be named.
    let survey = try JournalSurvey(
      view.file, in: JournalHead.byteCount..<view.recordsEnd, journal: view.head.journal,
      keys: open.keys, progress: progress)
    var lost = checkRecords(of: view, survey)
    var repairable: Set<ItemName> = []
    if let damage = view.damage {
      let newest = survey.newest(before: view.recordsEnd)
      let broken =
        survey.unopened.map { ($0.prefix.tag, $0.number) }
        + survey.partial.filter { !$0.counts }.map { ($0.prefix.tag, $0.prefix.number) }
      let older = Set(broken.filter { $0.1 > newest[$0.0]?.prefix.number ?? 0 }.map(\.0))
      for (tag, name) in survey.names where damage.tagsBehind?.contains(tag) ?? true {
        if older.contains(tag) {
          lost.insert(name)
        } else if let record = newest[tag], !record.isRemoval,
          // In the part that the chain confirms, the index shows what was removed.
          record.offset >= view.end.byteCount || view.index[tag] != nil
        {
          repairable.insert(name)
        }
      }
    }
    checkEnd(of: view)
    return VerificationReport(
      findings: findings, damagedItems: lost.union(repairable).sorted(),
      repairableItems: repairable.subtracting(lost).sorted(), isRepairable: true,
      itemCount: view.index.count, recordCount: survey.records.count,
      liveByteCount: view.live.byteCount, journalByteCount: view.end.byteCount)
  }

  private mutating func add(
    _ part: VerificationReport.Part, _ description: String, isDamage: Bool
  ) {
    findings.append(.init(part: part, description: description, isDamage: isDamage))
  }

  private mutating func checkHeaders() throws(StoreError) {
    let headers = HeaderFiles(directory: directory)
    if try directory.status(of: StoreFile.headerNext) != nil {
      add(
        .rotation,
        open.isRotationPending
          ? "a rotation was interrupted; the next change finishes it"
          : "a rotation was given up; the next program that opens and changes the store cleans up",
        isDamage: false)
    }
    let primary = try headers.content(of: StoreFile.header)
    if primary == .missing || primary == .defective(.damaged) {
      let what = primary == .missing ? "missing" : "damaged"
      add(.header, "the header is \(what); its copy is used", isDamage: true)
    }
    switch try headers.content(of: StoreFile.headerCopy) {
    case .header(open.header): break
    case .missing: add(.headerCopy, "the copy of the header is missing", isDamage: true)
    // Until a rotation is finished, both headers are the old ones, as they should be.
    case .header where open.isRotationPending: break
    case .header: add(.headerCopy, "the copy of the header differs from it", isDamage: false)
    case .defective: add(.headerCopy, "the copy of the header is damaged", isDamage: true)
    }
  }

  private mutating func checkOtherFiles() throws(StoreError) {
    for name in try directory.names().sorted() {
      if name.hasPrefix("damaged-") {
        add(.files, "\(name) is a journal from before a repair", isDamage: false)
      }
    }
  }

  private mutating func checkMark(of view: JournalView) throws(StoreError) {
    if let damage = view.damage {
      if damage.isOfMark { add(.mark, damage.reason, isDamage: true) }
    } else if let mark = open.mark, mark.digest == view.head.predecessor,
      // Otherwise the journal was replaced while it was read, and has its own mark by now.
      try mark.isUnchanged()
    {
      add(.mark, "the mark is still that of the previous journal, after a crash", isDamage: false)
    }
  }

  /// Reports records that do not open, and returns the items whose newest record is among them.
  private mutating func checkRecords(
    of view: JournalView, _ survey: JournalSurvey
  ) -> Set<ItemName> {
    var damaged: Set<ItemName> = []
    let lastCounting = survey.lastOffsets
    for gap in survey.gaps {
      // If the mark is damaged, nothing shows whether the bytes behind the last whole change count.
      if view.damage?.isOfMark == true, gap.range.lowerBound >= view.end.byteCount { continue }
      guard let record = gap.record else {
        let range = gap.range
        add(
          .journal, "bytes \(range.lowerBound) to \(range.upperBound - 1) do not open as a record",
          isDamage: true)
        continue
      }
      let (prefix, offset) = (record.prefix, record.offset)
      let hasValue = record.part?.hasValue == true
      // The index ends where the journal breaks off.
      let isNewest =
        lastCounting[prefix.tag] ?? 0 <= offset
        && (view.index[prefix.tag].map { Int($0.offset) == offset } ?? false
          || offset >= view.end.byteCount)
      let whose =
        survey.names[prefix.tag].map { "of \($0)" } ?? "of an item without a readable name"
      let what =
        if !isNewest {
          "an older value or a removal"
        } else if prefix.kind.contains(.removed) {
          "the removal"
        } else {
          "the newest value"
        }
      let part = hasValue ? "the name of record" : "record"
      let remedy =
        if !hasValue || !isNewest || prefix.kind.contains(.removed) {
          ""
        } else if survey.names[prefix.tag] != nil {
          "; its value does, and a repair restores the name"
        } else {
          "; its value does, and a repair gives it another name"
        }
      add(
        .journal,
        "\(part) \(record.number) at byte \(offset), \(what) \(whose), does not open\(remedy)",
        isDamage: true)
    }
    if !survey.gaps.isEmpty {
      // One gap may cover many records.
      let opened = Set(survey.counting.map(\.offset))
      for (tag, name) in survey.names {
        guard let entry = view.entry(of: tag) else { continue }
        // Behind a break there may be a newer record.
        if !opened.contains(Int(entry.offset)), lastCounting[tag] ?? 0 < view.end.byteCount {
          damaged.insert(name)
        }
      }
    }
    if let start = survey.firstOtherGap {
      add(
        .journal, "more records from byte \(start) on do not open; they are not listed",
        isDamage: true)
    }
    return damaged
  }

  private mutating func checkEnd(of view: JournalView) {
    if let damage = view.damage, !damage.isOfMark {
      add(.journal, damage.reason, isDamage: true)
    }
  }
}
