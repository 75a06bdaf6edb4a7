import ArgumentParser
import SealedStore

/// `session-tools compact`.
struct CompactCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Rewrite a store without what was overwritten or removed.",
    discussion: "Happens by itself when more than half of a journal is of no more use.")

  @OptionGroup var opening: OpeningOptions

  func run() throws {
    let store = try opening.open().store
    let freed = try ProgressLine.during("compacting") { try store.compact(progress: $0) }
    StandardError.say("\(store.path): \(Size.text(freed)) freed")
  }
}
