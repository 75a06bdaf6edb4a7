import ArgumentParser
import SealedStore
import SessionToolsBase
import StoreMigration

/// `session-tools list`.
struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the names of the items.",
    discussion: """
      Four columns: service, group, install, identifier; a part that an item does not have is \
      empty. On a terminal they are aligned under their names; otherwise each line is an item, \
      with its fields separated by tabs. Control characters and backslashes in names are written \
      \\t, \\n, \\\\, \\u{1b}.

      With --json: {"items": [{"group", "identifier", "install", "service"}]}, null where an \
      item has no such part. Names are exact there, with the escapes of JSON.
      """)

  @OptionGroup var opening: OpeningOptions
  @OptionGroup var namespaces: NamespaceOptions
  @OptionGroup var format: JSONOption

  func run() throws {
    let keys = try keys(in: opening.openItems().store).filter(namespaces.selection.contains)
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
