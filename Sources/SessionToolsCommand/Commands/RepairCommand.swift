import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools repair`.
struct RepairCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Repair a damaged store as far as possible.",
    discussion: """
      The newest value that opens of each item goes into a new journal; the damaged one is kept \
      beside it. Writes a line for each item that is not simply kept:

        gone: ITEM            no value of it opens
        older value: ITEM     its newest value, or its removal, does not open
        may be older: ITEM    a record that does not open may have been newer
        name restored: ITEM   its newest value is kept, its name of an older record
        recovered as: ITEM    its newest value is kept; its name does not open

      Exit status \(ExitStatus.incomplete.rawValue) when there is such a line other than "name \
      restored", or when it is unknown whether anything is missing. The store is always named, \
      because what does not open is given up.

      Example: cp -a ~/secrets ~/secrets.damaged && session-tools repair ~/secrets
      """)

  @OptionGroup var opening: OpeningOptions<StoreArgument>

  func run() throws {
    let store = try opening.openDirectory(
      forDatabase: "put the database back from a backup, and see with verify what that changed")
    let report = try ProgressLine.during("repairing") { try store.repair(progress: $0) }
    guard report.wasNeeded else { return StandardError.say("\(store.path): nothing to repair") }
    for item in report.goneItems { try write("gone", item) }
    for item in report.olderItems { try write("older value", item) }
    // Without a confirmed end these are all items, and a message says so.
    if report.isEndConfirmed {
      for item in report.possiblyOlderItems { try write("may be older", item) }
    }
    for item in report.renamedItems { try write("name restored", item) }
    for item in report.recoveredItems { try write("recovered as", item) }
    StandardError.say("\(store.path): repaired: \(Self.summary(report))")
    if report.unnamedItemCount > 0 {
      StandardError.say(
        "\(Size.count(report.unnamedItemCount, "more item")) whose name does not open: gone, or at "
          + "an older value")
    }
    if report.unknownRecordCount > 0 {
      StandardError.say(
        "at least \(Size.count(report.unknownRecordCount, "record")) could not be opened or found; "
          + Self.unknown(report))
    }
    if !report.recoveredItems.isEmpty {
      StandardError.say(
        "\(Size.count(report.recoveredItems.count, "item")) kept in the service recovered, without "
          + "a name of its own: find out from the value what it is, store it under that name, and "
          + "remove it from there")
    }
    if !report.isEndConfirmed {
      StandardError.say(
        "The mark was damaged, so it is unknown whether the last changes are all there: compare "
          + "what list shows with what you expect")
    }
    if let keptAt = report.keptAt { StandardError.say("The damaged journal is kept in \(keptAt)") }
    if !report.isComplete { throw ExitCode(ExitStatus.incomplete.rawValue) }
  }

  private static func unknown(_ report: RepairReport) -> String {
    guard report.isEndConfirmed else {
      return "each may have been a newer value, or the removal, of any item"
    }
    return report.possiblyOlderItems.isEmpty
      ? "each was an older value, or an item of its own: every item that is kept has a later record"
      : "each may have been an item of its own, or the newest value or the removal of an item that "
        + "may be older"
  }

  private func write(_ what: String, _ item: ItemName) throws {
    try StandardOutput.write("\(what): \(item)".escapingControls() + "\n")
  }

  private static func summary(_ report: RepairReport) -> String {
    let older = report.olderItems.count
    return "\(Size.count(report.itemCount - older, "item")) kept"
      + (older > 0 ? ", \(older) with an older value" : "")
      + (report.goneItems.isEmpty ? "" : ", \(report.goneItems.count) gone")
  }
}
