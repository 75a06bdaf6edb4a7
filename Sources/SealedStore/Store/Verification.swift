public import SessionToolsBase

extension SealedFileStore {
  /// Reads every byte of the store, opens every record, and reports whatever is not as a writer
  /// leaves it.
  ///
  /// Changes nothing and takes no lock.
  ///
  /// - Parameter progress: Hears how many bytes of the journal are done.
  /// - Returns: What was found. Damage is a finding and no error.
  /// - Throws: `locked`, `wrongKey` when the keys were replaced meanwhile, `corrupt` when
  ///   neither header nor copy can be used, `unsupportedVersion`, `unsafePermissions`,
  ///   `accessDenied` or `io`.
  public func verify(progress: StoreProgress? = nil) throws(StoreError) -> VerificationReport {
    let (keys, slot) = try withState { open in
      open.keys.beginUse()
      return (open.keys, open.slot)
    }
    defer { keys.endUse() }
    let open = try loader.load(by: .keys(keys), slot: slot)
    var verifier = Verifier(directory: directory, open: open)
    return try verifier.report(progress: progress)
  }
}

/// Collects what is to be reported.
private struct Verifier {
  let directory: PrivateDirectory
  let open: OpenState
  var findings: [VerificationReport.Finding] = []

  init(directory: PrivateDirectory, open: OpenState) {
    self.directory = directory
    self.open = open
  }

  mutating func report(progress: StoreProgress?) throws(StoreError) -> VerificationReport {
    try checkHeaders()
    try checkOtherFiles()
    let view: JournalView
    do throws(StoreError) {
      view = try open.usableJournal()
    } catch let error where error.code == StoreError.corrupt {
      add(.journal, error.reason, isDamage: true)
      return VerificationReport(
        findings: findings, damagedItems: [], itemCount: 0, recordCount: 0, liveByteCount: 0,
        journalByteCount: try directory.status(of: StoreFile.journal)?.byteCount ?? 0)
    }
    try checkMark(of: view)
    // Behind a break as well, so that the items there can be named.
    let survey = try JournalSurvey(
      view.file, in: JournalHead.byteCount..<view.recordsEnd, journal: view.head.journal,
      keys: open.keys, progress: progress)
    var damaged = checkRecords(of: view, survey)
    if let damage = view.damage {
      for (tag, name) in survey.names where damage.tagsBehind?.contains(tag) ?? true {
        damaged.insert(name)
      }
    }
    checkEnd(of: view)
    return VerificationReport(
      findings: findings, damagedItems: damaged.sorted(), itemCount: view.index.count,
      recordCount: survey.records.count, liveByteCount: view.live.byteCount,
      journalByteCount: view.end.byteCount + view.tailByteCount)
  }

  private mutating func add(
    _ place: VerificationReport.Place, _ description: String, isDamage: Bool
  ) {
    findings.append(.init(place: place, description: description, isDamage: isDamage))
  }

  private mutating func checkHeaders() throws(StoreError) {
    let headers = HeaderFiles(directory: directory)
    if try directory.status(of: StoreFile.headerNext) != nil {
      add(
        .rotation,
        open.isRotationPending
          ? "a rotation was interrupted; the next change finishes it"
          : "a rotation was given up; the next change removes what it left", isDamage: false)
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
    case .header: add(.headerCopy, "the copy of the header is another one", isDamage: false)
    case .defective: add(.headerCopy, "the copy of the header is damaged", isDamage: true)
    }
  }

  private mutating func checkOtherFiles() throws(StoreError) {
    for name in try directory.names().sorted() {
      if name.hasPrefix("tail-") {
        add(.files, "\(name) keeps an unfinished write that was cut off", isDamage: false)
      } else if name.hasPrefix("damaged-") {
        add(.files, "\(name) is a journal from before a repair", isDamage: false)
      }
    }
  }

  private mutating func checkMark(of view: JournalView) throws(StoreError) {
    guard
      let (content, byteCount) = try directory.read(
        StoreFile.mark, largestByteCount: Mark.byteCount)
    else {
      return add(.mark, "the mark is missing; the next change renews it", isDamage: false)
    }
    guard byteCount == Mark.byteCount, let mark = Mark(content, chainKey: open.keys.chainKey)
    else {
      return add(.mark, "the mark is damaged; the next change renews it", isDamage: false)
    }
    if mark.journal != view.head.journal {
      add(.mark, "the mark is that of an earlier journal", isDamage: false)
    }
  }

  /// Reports records that do not open, and returns the items whose newest record is among them.
  private mutating func checkRecords(
    of view: JournalView, _ survey: JournalSurvey
  ) -> Set<StoreKey> {
    var damaged: Set<StoreKey> = []
    for gap in survey.gaps {
      guard let prefix = gap.prefix else {
        add(.journal, "bytes \(gap.range) are no record that opens", isDamage: true)
        continue
      }
      let isNewest =
        view.index[prefix.tag].map { Int($0.offset) == gap.range.lowerBound } ?? false
      let whose =
        survey.names[prefix.tag].map { "of \($0)" } ?? "of an item without a readable name"
      let what = isNewest ? "the newest value" : "an older value or a removal"
      add(
        .journal,
        "record \(prefix.number) at byte \(gap.range.lowerBound), \(what) \(whose), "
          + "does not open", isDamage: true)
      if isNewest, let name = survey.names[prefix.tag] { damaged.insert(name) }
    }
    if let start = survey.firstOtherGap {
      add(
        .journal, "more records from byte \(start) on do not open; they are not listed",
        isDamage: true)
    }
    return damaged
  }

  private mutating func checkEnd(of view: JournalView) {
    if let damage = view.damage {
      add(.journal, damage.reason, isDamage: true)
    } else if view.tailByteCount > 0 {
      add(
        .tail, "\(view.tailByteCount) bytes of an unfinished write; the next change cuts them off",
        isDamage: false)
    }
  }
}
