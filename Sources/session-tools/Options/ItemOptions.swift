import ArgumentParser
import SessionToolsBase

/// The name of one item.
struct ItemOptions: ParsableArguments {
  @Option(
    name: .long, help: ArgumentHelp("The program or service it belongs to.", valueName: "name"))
  var service: String

  @Option(name: .long, help: ArgumentHelp("The access group, if it has one.", valueName: "name"))
  var group: String?

  @Option(name: .long, help: ArgumentHelp("The installation, if it has one.", valueName: "name"))
  var install: String?

  @Argument(help: "The item within the service.")
  var identifier: String

  /// Returns the item's full name.
  ///
  /// - Throws: `invalidName` if a part is empty or too long.
  func key() throws(StoreError) -> StoreKey {
    let namespace = try StoreNamespace(
      service: service, accessGroup: group,
      install: install.map(InstallIdentifier.init(rawValue:)))
    return try StoreKey(identifier, in: namespace)
  }
}
