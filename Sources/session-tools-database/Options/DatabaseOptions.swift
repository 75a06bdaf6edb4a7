import ArgumentParser
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsCommand

/// A store in a database.
struct DatabaseOptions: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "The database's address, without a password: postgresql://USER@HOST/DATABASE.",
      valueName: "address"))
  var address: String
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var interaction: InteractionOptions

  /// Connects to the database.
  ///
  /// - Throws: As ``ConnectionOptions/connect(to:_:)``.
  func connect() throws -> DatabaseAccess { try connection.connect(to: address, interaction) }
}

/// How to get to a store in a database.
struct ConnectionOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp("The schema of the store.", valueName: "name"))
  var schema = "session_tools"

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A file with the password of the database's user, mode 0600; one newline at its end is "
        + "ignored.", valueName: "file"), completion: .file())
  var passwordFile: String?

  @Flag(
    name: .long,
    help: "Allow an sslmode in the address with which others may read what is sent, or answer.")
  var allowPlaintext = false

  @Option(
    name: .customLong("timeout"),
    help: ArgumentHelp(
      "How long the database may take for each answer.", valueName: "seconds"))
  private var seconds: Double = 10

  func validate() throws {
    guard (0.1...1e6).contains(seconds) else {
      throw ValidationError("--timeout takes a number of seconds, 0.1 or more.")
    }
  }

  /// Connects to a database; asks for the password if the server wants one and none was given.
  ///
  /// - Throws: As `SealedDatabaseStore.open` before it looks for a store.
  func connect(to address: String, _ interaction: InteractionOptions) throws -> DatabaseAccess {
    // Without prepared statements, so that any pooler may be in between.
    var options = SealedDatabaseStore.Options(
      schema: schema, allowsPlaintext: allowPlaintext, preparesStatements: false,
      operationTimeout: .seconds(seconds))
    if let passwordFile {
      let password = try Self.password(in: passwordFile)
      options.password = { () throws(StoreError) in password }
    }
    do throws(StoreError) {
      return DatabaseAccess(
        address: address, options: options, inspector: try DatabaseInspector(address, options))
    } catch {
      guard passwordFile == nil, interaction.canAsk, error.isAboutPassword else { throw error }
      let password = try Question.ask(
        "Password of the database's user: ", about: error.store, isHidden: true)
      options.password = { () throws(StoreError) in password }
      return DatabaseAccess(
        address: address, options: options, inspector: try DatabaseInspector(address, options))
    }
  }
}

extension ConnectionOptions {
  private static func password(in file: String) throws(StoreError) -> SecretBytes {
    do throws(StoreError) {
      return try PassphraseReader.read(file: file)
    } catch let error where error.code == .keyMissing {
      throw StoreError(
        .keyMissing, store: file, reason: error.reason,
        remedy: "Name the file with the password of the database's user")
    }
  }
}

extension StoreError {
  /// Whether a server wanted a password, or another one.
  fileprivate var isAboutPassword: Bool { (underlying as? SQLState)?.code == "28P01" }
}
