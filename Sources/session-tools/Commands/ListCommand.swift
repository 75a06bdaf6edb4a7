import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools list`.
struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the names of the items.",
    discussion: """
      Four columns: service, group, install, identifier; a part that an item has not is empty. \
      On a terminal they are aligned under their names; otherwise a line is an item, its fields \
      separated by tabs. Controls and backslashes in names are written \\t, \\n, \\\\, \\u{1b}.

      With --json: {"items": [{"group", "identifier", "install", "service"}]}, null where an \
      item has no such part. Names are as they are there, escaped as JSON has it.
      """)

  @OptionGroup var opening: OpeningOptions

  @Option(name: .long, help: ArgumentHelp("Only items of this service.", valueName: "name"))
  var service: String?
  @Option(name: .long, help: ArgumentHelp("Only items of this group.", valueName: "name"))
  var group: String?
  @Option(name: .long, help: ArgumentHelp("Only items of this installation.", valueName: "name"))
  var install: String?

  @OptionGroup var format: JSONOption

  func run() throws {
    let keys = try keys(in: opening.openItems().store).filter(isWanted)
    if format.json { return try format.write(Output(items: keys.map(ItemOutput.init))) }
    var table = Table(["SERVICE", "GROUP", "INSTALL", "IDENTIFIER"])
    table.rows = keys.map { key in
      let namespace = key.namespace
      return [
        namespace.service, namespace.accessGroup ?? "", namespace.install?.rawValue ?? "",
        key.identifier,
      ]
    }
    try table.write()
  }

  private func keys(in store: any SecretStore) throws -> [StoreKey] {
    guard let store = store as? SealedFileStore else { return try store.keys(in: nil) }
    return try ProgressLine.during("listing") { try store.keys(in: nil, progress: $0) }
  }

  private func isWanted(_ key: StoreKey) -> Bool {
    let namespace = key.namespace
    return Self.isSame(namespace.service, ifGiven: service)
      && Self.isSame(namespace.accessGroup, ifGiven: group)
      && Self.isSame(namespace.install?.rawValue, ifGiven: install)
  }

  /// Byte for byte, as names are told apart everywhere.
  private static func isSame(_ part: String?, ifGiven wanted: String?) -> Bool {
    guard let wanted else { return true }
    return part.map { $0.utf8.elementsEqual(wanted.utf8) } ?? false
  }

  private struct Output: Encodable {
    let items: [ItemOutput]
  }
}
