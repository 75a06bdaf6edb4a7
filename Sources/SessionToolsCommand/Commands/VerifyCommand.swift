import ArgumentParser
import DatabaseStore
import SealedStore
import SessionToolsBase

/// `session-tools verify`.
struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Read every byte of a store and open every record.",
    discussion: """
      Changes nothing, except that an interrupted change is confirmed or dropped, as whenever a \
      store is opened. Writes the store's fingerprint, which its recipients need, and a line for \
      everything that is not as a writer leaves it: "damage" when confirmed data was changed or \
      lost, "note" when the next change repairs it or nothing needs repair. Then writes a line for \
      each item that cannot be read: "newest value lost", or "cannot be read until repaired" when \
      a repair brings it back. Exit status 6 when there is damage.

      It cannot detect that the whole directory was put back to an older state.

      With --json: {"damagedItems": [as list --json has them], "findings": [{"description", \
      "isDamage", "part"}], "fingerprint", "isSound", "itemCount", "journalByteCount", \
      "liveByteCount", "recordCount", "repairableItems"}. The repairable items are those of the \
      damaged ones that a repair brings back. A part is one of \
      \(VerificationReport.Part.allCases.map(\.rawValue).joined(separator: ", ")).

      Of a store in a database, the names and versions of all rows are checked. Their values are \
      not read: one that was changed is damage whenever it is read. A person who can write to a \
      database can put back rows as they once were, or delete them, and nothing in a row shows \
      that. So a store in a database is compared with what the last \
      verification found, which a sealed store of the auditor's own keeps, the keeper: about 40 \
      bytes an item. Keep it where the database's administrators cannot write. The first one \
      compares nothing. The role NAME_auditor is enough. Writes a line for each finding; exit \
      status 6 when there is one. It is found again until the item is put again, or until \
      --accept, which is for a database that was put back from a backup on purpose.

      With --json: {"findings": [{"finding", "item", "tag"}], "itemCount", "lastTime", \
      "unexplainedCount"}. A finding is older, missing, damaged or olderHeader; tag is what the \
      row is called in the database; what a finding does not have is null, and so is lastTime the \
      first time.

      Example:
        session-tools verify ~/vault
        session-tools verify postgresql://auditor@db.example.com/app \\
          --key-file app.key --keeper ~/compared
      """)

  @OptionGroup var opening: OpeningOptions<OptionalStoreArgument>
  @Option(
    name: .long,
    help: ArgumentHelp(
      "For a database: the sealed store that keeps what was found; made with init.",
      valueName: "directory"), completion: .directory,
    transform: StoreLocation.directory)
  var keeper: String?
  @OptionGroup(title: "Key of the keeper") var keeperKey: KeyOptions<KeeperSide>
  @Flag(name: .long, help: "For a database: take what there is now as right.")
  var accept = false
  @OptionGroup var format: JSONOption

  func validate() throws {
    try KeyArgument.checkDescriptors(opening.access.secrets + [keeperKey.argument])
    guard keeper != nil || !accept, keeper != nil || keeperKey.argument == nil else {
      throw ValidationError("--accept and the keeper's key are for a --keeper.")
    }
  }

  func run() throws {
    switch try opening.store.location() {
    case .database: try compare()
    case .sealed, .secretService: try verify()
    }
  }

  private func compare() throws {
    guard let keeper else {
      throw Failure(
        .usage,
        "name the sealed store that keeps what was found, with --keeper; make one with "
          + "session-tools init")
    }
    guard case .database(let access) = try opening.place() else { return }
    let store = try access.open(opening.key.argument, opening.interaction, optionStart: "--")
      .open.store
    let open = try KeyFinder(
      path: keeper, argument: keeperKey.argument, interaction: opening.interaction,
      optionStart: KeeperSide.optionStart
    ).open(SealedFileStore.Options(lockTimeout: opening.timeout, onNotice: Notices.report)).open
    let report = try ProgressLine.during("comparing") { progress throws(StoreError) in
      try store.compare(with: open.store, accepting: accept, progress: progress)
    }
    try ComparisonOutput(report).write(format)
    guard report.findings.isEmpty || accept else { throw ExitCode(ExitStatus.damaged.rawValue) }
  }

  private func verify() throws {
    guard keeper == nil else { throw Failure(.usage, "--keeper is for a store in a database") }
    let store = try opening.openDirectory(forDatabase: "")
    let report = try ProgressLine.during("verifying") { try store.verify(progress: $0) }
    if format.json {
      try format.write(VerificationOutput(report, fingerprint: try store.fingerprint()))
    } else {
      try StandardOutput.write(
        "fingerprint: \(try store.fingerprint())\n" + Self.text(report))
    }
    guard report.isSound else {
      throw StoreError(
        .corrupt, store: store.path, reason: "the store is damaged",
        remedy: report.isRepairable
          ? "Make a copy of its directory, then run \(opening.key.command("repair", store.path))"
          : "Put its directory back from a backup; there is nothing left to repair")
    }
  }

  private static func text(_ report: VerificationReport) -> String {
    var lines = report.findings.map { finding in
      "\(finding.isDamage ? "damage" : "note"): \(finding.part.name): \(finding.description)"
    }
    let repairable = Set(report.repairableItems)
    lines += report.damagedItems.map { item in
      repairable.contains(item)
        ? "cannot be read until repaired: \(item)" : "newest value lost: \(item)"
    }
    lines.append("\(report.isSound ? "sound" : "damaged"): \(summary(report))")
    return lines.map { $0.escapingControls() + "\n" }.joined()
  }

  private static func summary(_ report: VerificationReport) -> String {
    let isJournalDamaged = report.findings.contains { $0.isDamage && $0.part == .journal }
    // Counts of zero would read as if all that is there were sound.
    if isJournalDamaged, report.recordCount == 0 {
      return "no item can be read\(report.isRepairable ? " until repaired" : ""), "
        + "\(Size.text(report.journalByteCount)) of journal"
    }
    return "\(Size.count(report.itemCount, "item")), \(Size.count(report.recordCount, "record")), "
      + "\(Size.text(report.journalByteCount)) of journal, "
      + "\(Size.text(report.liveByteCount)) in use"
  }
}

/// The store that keeps what comparisons found.
enum KeeperSide: StoreSide {
  static let name = "keeper"
  static let prefix = "keeper"
}
