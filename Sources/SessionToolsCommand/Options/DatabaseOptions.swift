import ArgumentParser
import DatabaseStore
import SealedStore
import SessionToolsBase

/// How to get to a store in a database.
struct DatabaseOptions<Side: StoreSide>: ParsableArguments {
  @Option(
    name: .customLong(Side.option("schema")),
    help: ArgumentHelp(
      "The schema with the \(Side.name)'s tables; session_tools by default.", valueName: "name"))
  var schema: String?

  @Option(
    name: .customLong(Side.option("password-file")),
    help: ArgumentHelp(
      "A file with the password of the database's user, mode 0600; one newline at its end is "
        + "ignored.", valueName: "file"), completion: .file())
  var passwordFile: String?

  @Flag(
    name: .customLong(Side.option("allow-plaintext")),
    help: "Allow an sslmode in the address with which others may read what is sent, or answer.")
  var allowPlaintext = false

  /// The options, as they are typed.
  private var words: [String] {
    [("schema", schema), ("password-file", passwordFile)]
      .flatMap { name, value in value.map { ["\(Side.optionStart)\(name)", $0] } ?? [] }
      + (allowPlaintext ? ["\(Side.optionStart)allow-plaintext"] : [])
  }

  /// Where the password is read from, if that was given.
  var password: KeyArgument? { passwordFile.map(KeyArgument.passphraseFile) }

  var connection: DatabaseConnection {
    DatabaseConnection(
      schema: schema, passwordFile: passwordFile, allowsPlaintext: allowPlaintext, words: words)
  }
}

/// The choices of a command line about a database.
struct DatabaseConnection {
  var schema: String?
  var passwordFile: String?
  var allowsPlaintext = false
  /// The options that were given, as they are typed.
  var words: [String] = []

  /// Returns how a command line names a store in a database: its address, and these choices.
  func words(for address: String) -> [String] { [address] + words }

  /// Checks that nothing was chosen for a store that is not in a database.
  ///
  /// - Throws: A usage failure.
  func checkIsEmpty(for location: StoreLocation) throws {
    guard let word = words.first else { return }
    throw Failure(
      .usage, "\(word) is for a store in a database, postgresql://…, and \(location) is not in one")
  }

  /// Connects to a database; asks for the password if the server wants one and none was given.
  ///
  /// - Parameters:
  ///   - address: The database's address.
  ///   - interaction: Whether the password may be asked for.
  ///   - timeout: How long the database may take for each answer; at least 0.1 s.
  /// - Returns: The database, and how stores in it are opened.
  /// - Throws: As `SealedDatabaseStore.open` before it looks for a store, and `unavailable` if
  ///   libpq is not installed.
  func connect(
    to address: String, _ interaction: InteractionOptions, timeout: Duration
  ) throws -> DatabaseAccess {
    try SharedLibrary.pq.check()
    // Without prepared statements, so that any pooler may be in between.
    var options = SealedDatabaseStore.Options(
      allowsPlaintext: allowsPlaintext, preparesStatements: false,
      operationTimeout: max(timeout, .milliseconds(100)))
    if let schema { options.schema = schema }
    // doctor says what else there is, which is the same at each command.
    options.onNotice = { notice in
      if case .keyMemoryNotLocked = notice { StandardError.complain("\(notice)") }
    }
    if let passwordFile {
      let password = try Self.password(in: passwordFile)
      options.password = { () throws(StoreError) in password }
    }
    do throws(StoreError) {
      return try access(to: address, options)
    } catch {
      guard passwordFile == nil, interaction.canAsk, error.isAboutPassword else { throw error }
      let password = try Question.ask(
        "Password of the database's user: ", about: error.store, isHidden: true)
      options.password = { () throws(StoreError) in password }
      return try access(to: address, options)
    }
  }

  private func access(
    to address: String, _ options: SealedDatabaseStore.Options
  ) throws(StoreError) -> DatabaseAccess {
    DatabaseAccess(
      address: address, words: words(for: address), options: options,
      inspector: try DatabaseInspector(address, options))
  }

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
