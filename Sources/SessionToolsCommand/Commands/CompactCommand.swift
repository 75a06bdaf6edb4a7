import ArgumentParser
import SealedStore

/// `session-tools compact`.
struct CompactCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Rewrite a store without replaced and removed values.",
    discussion: """
      Until then, these values stay in the journal, sealed, and anyone with the store's key can \
      read them. A store compacts itself when they take more than half of the journal and more \
      than 16 MiB, or more than 1 MiB after 1,000 changes; set and remove compact it from 256 KiB \
      on. In a smaller store only this command does so. Copies that the disk or a backup keeps \
      are not removed.

      Example:
        session-tools compact ~/vault
      """)

  @OptionGroup var opening: OpeningOptions<OptionalStoreArgument>

  func run() throws {
    let store = try opening.openDirectory(
      forDatabase: "PostgreSQL frees the space of old rows itself (autovacuum)")
    let freed = try ProgressLine.during("compacting") { try store.compact(progress: $0) }
    StandardError.say("\(store.path): \(Size.text(freed)) freed")
  }
}
