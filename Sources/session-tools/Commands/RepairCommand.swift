import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools repair`.
struct RepairCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Repair a damaged store as far as possible.",
    discussion: """
      Every record that still opens goes into a new journal; the damaged one is kept beside it. \
      An item whose newest value does not open goes back to an older value, or is gone. Check the \
      items on standard output: they could not be read before, and are listed as by verify.
      """)

  @OptionGroup var opening: OpeningOptions

  func run() throws {
    let store = try opening.open().store
    let before = try ProgressLine.during("verifying") { try store.verify(progress: $0) }
    let report = try ProgressLine.during("repairing") { try store.repair(progress: $0) }
    guard report.wasNeeded else { return StandardError.say("\(store.path): nothing to repair") }
    for item in before.damagedItems {
      try StandardOutput.write("unreadable: \(item)".escapingControls() + "\n")
    }
    StandardError.say("\(store.path): repaired, \(Size.count(report.itemCount, "item"))")
    if report.lostRecordCount > 0 {
      StandardError.say(
        "\(Size.count(report.lostRecordCount, "record")) could not be opened; each may have been "
          + "a newer value, or the removal, of any item")
    }
    if !report.isEndConfirmed {
      StandardError.say(
        "The mark was damaged, so it is unknown whether the last changes are all there: compare "
          + "what list shows with what you expect")
    }
    if let keptAt = report.keptAt { StandardError.say("The damaged journal is kept in \(keptAt)") }
  }
}
