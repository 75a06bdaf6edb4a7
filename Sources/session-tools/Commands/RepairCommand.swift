import ArgumentParser
import SealedStore
import SessionToolsBase
import ToolBase

/// `session-tools repair`.
struct RepairCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Repair a damaged store as far as possible.",
    discussion: """
      Every record that still opens goes into a new journal; the damaged one is kept beside it. \
      An item whose newest value does not open goes back to an older value, or is gone. Writes a \
      line for each: "older value: ITEM" or "gone: ITEM". Exit status \
      \(ExitStatus.incomplete.rawValue) when anything is gone or older, or when it is unknown \
      whether anything is. The store is always named, because what does not open is given up.

      Example: cp -a ~/secrets ~/secrets.damaged && session-tools repair ~/secrets
      """)

  @OptionGroup var opening: OpeningOptions<StoreArgument>

  func run() throws {
    let store = try opening.open().store
    let report = try ProgressLine.during("repairing") { try store.repair(progress: $0) }
    guard report.wasNeeded else { return StandardError.say("\(store.path): nothing to repair") }
    for item in report.goneItems { try write("gone", item) }
    for item in report.olderItems { try write("older value", item) }
    StandardError.say("\(store.path): repaired: \(Self.summary(report))")
    if report.unnamedItemCount > 0 {
      StandardError.say(
        "\(Size.count(report.unnamedItemCount, "more item")) whose name does not open: gone, or at "
          + "an older value")
    }
    if report.unknownRecordCount > 0 {
      StandardError.say(
        "at least \(Size.count(report.unknownRecordCount, "record")) could not be opened or found; "
          + "each may have been a newer value, or the removal, of any item")
    }
    if !report.isEndConfirmed {
      StandardError.say(
        "The mark was damaged, so it is unknown whether the last changes are all there: compare "
          + "what list shows with what you expect")
    }
    if let keptAt = report.keptAt { StandardError.say("The damaged journal is kept in \(keptAt)") }
    if !report.isComplete { throw ExitCode(ExitStatus.incomplete.rawValue) }
  }

  private func write(_ what: String, _ item: StoreKey) throws {
    try StandardOutput.write("\(what): \(item)".escapingControls() + "\n")
  }

  private static func summary(_ report: RepairReport) -> String {
    let older = report.olderItems.count
    return "\(Size.count(report.itemCount - older, "item")) kept"
      + (older > 0 ? ", \(older) with an older value" : "")
      + (report.goneItems.isEmpty ? "" : ", \(report.goneItems.count) gone")
  }
}
