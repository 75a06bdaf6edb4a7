import ArgumentParser
import SealedStore
import SessionToolsBase
import StoreMigration

/// `session-tools list`.
struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the names of the items.",
    usage: "session-tools list [<store>] [<pattern>] [<options>]",
    discussion: """
      With a pattern, only of those whose identifier is like it: * is any text, ? any character. \
      A single argument is a pattern if it has one of these two and neither a slash nor a colon; \
      otherwise it is the store.

      Four columns: service, group, install, identifier; a part that an item does not have is \
      empty. On a terminal they are aligned under their names; otherwise each line is an item, \
      with its fields separated by tabs. Control characters and backslashes in names are written \
      \\t, \\n, \\\\, \\u{1b}.

      With --json: {"items": [{"group", "identifier", "install", "service"}]}, null where an \
      item has no such part. Names are exact there, with the escapes of JSON.

      With --tree, a line for each part of a name: service, group, install, and the identifier, \
      split behind its slashes.

      Example:
        session-tools list ~/vault --service mail
        session-tools list ~/vault 'token*' --tree
      """)

  @OptionGroup var store: StoreOption
  @Argument(help: ItemPlaceOptions.storeHelp, completion: .directory)
  var first: String?
  @Argument(
    help: ArgumentHelp("Only identifiers like this.", valueName: "pattern"),
    completion: .custom(NameCompletion.item))
  var second: String?
  @OptionGroup(title: "Items") var selected: SelectionOptions
  @Flag(name: .long, help: "Write the names as a tree, for a person.")
  var tree = false
  @OptionGroup var format: JSONOption
  @OptionGroup var access: AccessOptions

  func validate() throws {
    _ = try words()
    guard !tree || !format.json else { throw ValidationError("Give --tree or --json, not both.") }
  }

  /// Returns the store and the pattern, as far as the command line names them.
  ///
  /// A single word means one or the other by its form alone, never by what exists or is set.
  private func words() throws -> (store: StoreLocation?, pattern: String?) {
    var words = [first, second].compactMap(\.self)
    var location = store.named
    if let word = words.first, words.count == 2 || (location == nil && !Self.isPattern(word)) {
      guard location == nil else {
        throw ValidationError("Name the store once: with --store, or before the pattern.")
      }
      location = try ItemPlaceOptions.location(word)
      words.removeFirst()
    }
    guard words.isEmpty || selected.identifier == nil else {
      throw ValidationError("Give one pattern: with --identifier, or as an argument.")
    }
    return (location, words.first ?? selected.identifier)
  }

  private static func isPattern(_ word: String) -> Bool {
    word.utf8.contains { "*?".utf8.contains($0) } && !word.utf8.contains { "/:".utf8.contains($0) }
  }

  func run() throws {
    let (named, pattern) = try words()
    let open = try access.openItems(at: try named ?? Settings.store())
    var selection = selected.selection
    selection.identifierPattern = pattern
    let keys = try keys(in: open.store).filter(selection.contains)
    if tree { return try StandardOutput.write(NameTree(keys.sorted()).text) }
    if format.json { return try format.write(Output(items: keys.map(ItemOutput.init))) }
    var table = Table(StoreKey.columnNames)
    table.rows = keys.map(\.columns)
    try table.write()
  }

  private func keys(in store: any SecretStore) throws -> [StoreKey] {
    guard let store = store as? SealedFileStore else { return try store.keys(in: nil) }
    return try ProgressLine.during("listing") { try store.keys(in: nil, progress: $0) }
  }

  private struct Output: Encodable {
    let items: [ItemOutput]
  }
}
