import ArgumentParser
import SealedStore
import SessionToolsBase
import SessionToolsCommand

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

      Example:
        session-tools verify ~/vault
      """)

  @OptionGroup var opening: OpeningOptions<OptionalStoreArgument>
  @OptionGroup var format: JSONOption

  func run() throws {
    let store = try opening.open().store
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
