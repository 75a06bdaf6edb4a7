import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools repair`.
struct RepairCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Mend a damaged store as far as it can be mended.",
    discussion: """
      Every record that still opens goes into a new journal; the damaged one is kept beside it. \
      An item whose newest value is lost goes back to an older one, or is gone: those known by \
      name are listed on standard output, as verify lists them.
      """)

  @OptionGroup var opening: OpeningOptions

  func run() throws {
    let store = try opening.open().store
    let before = try ProgressLine.during("verifying") { try store.verify(progress: $0) }
    let report = try ProgressLine.during("repairing") { try store.repair(progress: $0) }
    guard report.wasNeeded else { return StandardError.say("\(store.path): nothing to repair") }
    for item in before.damagedItems {
      try StandardOutput.write("lost: \(item)".escapingControls() + "\n")
    }
    StandardError.say("\(store.path): repaired, \(Size.count(report.itemCount, "item"))")
    if report.lostRecordCount > 0 {
      StandardError.say(
        "\(Size.count(report.lostRecordCount, "record")) could not be opened; each may have been "
          + "a newer value, or the removal, of any item")
    }
    if let keptAt = report.keptAt { StandardError.say("The damaged journal is kept in \(keptAt)") }
  }
}
