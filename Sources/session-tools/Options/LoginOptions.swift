import ArgumentParser
import SessionToolsBase

/// The store of a login and its key, and the login's name in it.
struct LoginOptions: ParsableArguments {
  @OptionGroup var store: StoreOption

  @Option(name: .long, help: ArgumentHelp("The program that logs in.", valueName: "name"))
  var service: String

  @Option(
    name: .long,
    help: ArgumentHelp("The login within the service, if there are several.", valueName: "name"))
  var name = "login"

  @OptionGroup(title: "Key") var key: KeyOptions
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var waiting: TimeoutOptions

  /// Opens the store.
  ///
  /// - Throws: As `StoreOpener`, and `invalidName`.
  func open() throws -> LoginStore {
    let location = try store.location()
    let opener = StoreOpener(
      location: location, key: key.argument, interaction: interaction, timeout: waiting.timeout)
    // Checked before the store is opened, so that an invalid name leads to no passphrase prompt.
    let namespace = try StoreNamespace(service: service)
    _ = try StoreKey(name, in: namespace)
    return LoginStore(
      store: try opener.openItems().store, namespace: namespace, name: name, location: location,
      exclusionTimeout: waiting.chosen)
  }
}
