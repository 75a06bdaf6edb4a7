import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools get`.
struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Write a value to standard output.",
    usage: "session-tools get [<store>] <identifier> [--service <name>] [<options>]",
    discussion: """
      The value is written byte for byte; a newline is added only on a terminal. Exit status 3 \
      when there is no such item.

      Example:
        session-tools get ~/vault --service mail token
      """)

  @OptionGroup(title: "Item") var item: ItemOptions
  @OptionGroup var access: AccessOptions

  func run() throws {
    let (name, location) = try item.resolved()
    let open = try access.openItems(at: location)
    guard let value = try open.value(for: name, as: "get") else {
      throw Failure.noItem(name, in: location)
    }
    try StandardOutput.write(value)
    if StandardOutput.isTerminal { try StandardOutput.write("\n") }
  }
}

extension Failure {
  /// Returns the failure for an item that does not exist.
  static func noItem(_ name: ItemName, in location: StoreLocation) -> Failure {
    Failure(.notFound, "\(location): there is no \(name)")
  }
}
