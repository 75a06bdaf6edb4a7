import ArgumentParser
import SessionToolsBase
import ToolBase

/// The store of a login and its key, and the login's name in it.
struct LoginOptions: ParsableArguments {
  @OptionGroup var store: StoreOption

  @Option(name: .long, help: ArgumentHelp("The program that logs in.", valueName: "name"))
  var service: String

  @Option(
    name: .long,
    help: ArgumentHelp("The login within the service, if there are several.", valueName: "name"))
  var name = Self.standardName

  static let standardName = "login"

  @OptionGroup var access: AccessOptions

  /// Opens the store.
  ///
  /// - Throws: As `StoreOpener`, and `invalidName`.
  func open() throws -> LoginStore {
    let location = try store.location()
    // Checked before the store is opened, so that an invalid name leads to no passphrase prompt.
    let namespace = try StoreNamespace(service: service)
    _ = try ItemName(name, in: namespace)
    return LoginStore(
      store: try access.openItems(at: location).store, namespace: namespace, name: name,
      location: location,
      key: access.key.words, exclusionTimeout: access.waiting.chosen)
  }
}
