import ArgumentParser
import SealedStore

/// `session-tools compact`.
struct CompactCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Rewrite a store without what was overwritten or removed.",
    discussion: """
      Until then, removed and replaced values stay in the journal, sealed, and whoever has the \
      store's key can read them. It happens by itself when they take more than half of the journal \
      and more than 16 MiB, or more than 1 MiB after 1,000 changes; set and remove do it from \
      256 KiB on. In a smaller store only this command does it. Copies that the disk or a backup \
      keeps are beyond it.
      """)

  @OptionGroup var opening: OpeningOptions

  func run() throws {
    let store = try opening.open().store
    let freed = try ProgressLine.during("compacting") { try store.compact(progress: $0) }
    StandardError.say("\(store.path): \(Size.text(freed)) freed")
  }
}
