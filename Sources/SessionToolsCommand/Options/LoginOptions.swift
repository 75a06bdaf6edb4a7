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
      location: location, options: access.key.words + access.database.connection.words,
      exclusionTimeout: access.waiting.chosen)
  }
}

/// The address that the browser returns to, for servers that do not allow any.
struct RedirectOptions: ParsableArguments {
  @Option(
    name: .customLong("redirect-path"),
    help: ArgumentHelp("The path of the redirect, as the server knows it.", valueName: "path"))
  var path = Self.standardPath

  @Option(
    help: ArgumentHelp(
      "The port of the redirect, if the server allows only one.", valueName: "number"))
  var port: UInt16?

  @Flag(help: "Return to localhost instead of 127.0.0.1, if the server allows only that name.")
  var localhost = false

  private static let standardPath = "/callback"

  /// The options as they are typed; empty if none was given.
  var options: [String] {
    (path == Self.standardPath ? [] : ["--redirect-path", path])
      + (port.map { ["--port", "\($0)"] } ?? []) + (localhost ? ["--localhost"] : [])
  }
}
