import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools remove`.
struct RemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove an item.",
    discussion: """
      Exit status 3 when there is no such item. A removed value stays in the journal of a sealed \
      store, sealed, until the journal is compacted: anyone with the store's key can read it until \
      then. Run session-tools compact to compact it at once; by itself that happens from 256 KiB \
      of removed and replaced values on.
      """)

  @OptionGroup var opening: OpeningOptions
  @OptionGroup(title: "Item") var item: ItemOptions

  func run() throws {
    let key = try item.key()
    let open = try opening.openItems()
    let store = open.store
    // If two processes remove it at the same time, one of them must find nothing.
    try store.withExclusiveAccess(to: key, timeout: opening.timeout) {
      guard try store.contains(key) else { throw Failure.noItem(key, in: open.location) }
      try store.remove(key)
    }
    open.close()
  }
}
