import ArgumentParser
import SessionToolsBase

/// The namespace of some items.
struct ServiceOptions: ParsableArguments {
  @Option(
    name: .long, help: ArgumentHelp("The program or service they belong to.", valueName: "name"))
  var service: String

  @Option(name: .long, help: ArgumentHelp("The access group, if they have one.", valueName: "name"))
  var group: String?

  @Option(name: .long, help: ArgumentHelp("The installation, if they have one.", valueName: "name"))
  var install: String?

  /// Returns the namespace.
  ///
  /// - Throws: `invalidName` if a part is empty or too long.
  func namespace() throws(StoreError) -> StoreNamespace {
    try StoreNamespace(
      service: service, accessGroup: group,
      install: install.map(InstallIdentifier.init(rawValue:)))
  }
}
