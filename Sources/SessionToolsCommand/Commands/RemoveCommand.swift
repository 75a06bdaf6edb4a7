import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools remove`.
struct RemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove an item.",
    usage: "session-tools remove [<store>] <identifier> [--service <name>] [<options>]",
    discussion: """
      Asks first if standard input is a terminal. Exit status 3 when there is no such item. A \
      removed value stays in the journal of a store in a directory, sealed, until the journal is \
      compacted: anyone with the store's key can read it until then. Run session-tools compact to \
      compact it at once; by itself that happens from 256 KiB of removed and replaced values on.

      Example:
        session-tools remove ~/vault --service mail token
      """)

  @OptionGroup(title: "Item") var item: ItemOptions
  @OptionGroup var access: AccessOptions

  @Flag(name: .long, help: "Remove it without asking.")
  var force = false

  func run() throws {
    let (name, location) = try item.resolved()
    let open = try access.openItems(at: location)
    let store = open.store
    if StandardInput.isTerminal, !force { try confirm(name, in: open) }
    // If two processes remove it at the same time, one of them must find nothing.
    try store.withExclusiveAccess(to: name, timeout: access.timeout) {
      guard try store.contains(name) else { throw Failure.noItem(name, in: location) }
      try store.remove(name)
    }
    if StandardError.isTerminal { StandardError.say("\(location): \(name) removed") }
    open.close()
  }

  /// Asks outside of the exclusive access, for which other processes wait.
  private func confirm(_ name: ItemName, in open: ItemStore) throws {
    guard try open.store.contains(name) else { throw Failure.noItem(name, in: open.location) }
    guard access.interaction.canAsk else {
      throw Failure(.usage, "give --force to remove it without being asked; nothing was changed")
    }
    guard try Question.confirm("Remove \(name)?", about: "\(open.location)") else {
      throw Failure(.failure, "nothing was changed")
    }
  }
}
