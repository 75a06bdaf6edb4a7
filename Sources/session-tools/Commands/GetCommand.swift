import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools get`.
struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Write a value to standard output.",
    discussion: """
      Byte for byte; a newline is added on a terminal only. Exit status 3 when there is no such \
      item.
      """)

  @OptionGroup var opening: OpeningOptions
  @OptionGroup(title: "Item") var item: ItemOptions

  func run() throws {
    let key = try item.key()
    let open = try opening.openItems()
    guard let value = try open.store.value(for: key) else {
      throw Failure.noItem(key, in: open.location)
    }
    try StandardOutput.write(value)
    if StandardOutput.isTerminal { try StandardOutput.write("\n") }
  }
}

extension Failure {
  /// An item that is not there.
  static func noItem(_ key: StoreKey, in location: StoreLocation) -> Failure {
    Failure(.notFound, "\(location): there is no \(key)")
  }
}
