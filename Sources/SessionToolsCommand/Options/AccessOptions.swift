import ArgumentParser

/// How a store is opened, whichever it is.
struct AccessOptions: ParsableArguments {
  @OptionGroup(title: "Key") var key: KeyOptions<OnlyStore>
  @OptionGroup(title: "Database") var database: DatabaseOptions<OnlyStore>
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var waiting: TimeoutOptions

  var timeout: Duration { waiting.timeout }
  /// The key and the database's password that were given.
  var secrets: [KeyArgument?] { [key.argument, database.password] }

  /// Opens a store of any kind for its items.
  ///
  /// - Throws: As `StoreOpener`.
  func openItems(at location: StoreLocation) throws -> ItemStore {
    try opener(of: location).openItems()
  }

  /// Returns what opens a store.
  func opener(of location: StoreLocation) -> StoreOpener {
    StoreOpener(
      location: location, key: key.argument, database: database.connection,
      interaction: interaction, timeout: timeout)
  }
}

/// The time to wait for other processes, the Secret Service and databases.
struct TimeoutOptions: ParsableArguments {
  @Option(
    name: .customLong("timeout"),
    help: ArgumentHelp(
      "How long to wait for another process that writes, for the Secret Service, or for each "
        + "answer of a database; 10 by default.",
      valueName: "seconds"))
  private var seconds: Double?

  var timeout: Duration { chosen ?? .seconds(10) }

  /// The timeout that was given, if any.
  var chosen: Duration? { seconds.map { .seconds($0) } }

  func validate() throws {
    guard seconds.map({ (0...1e9).contains($0) }) ?? true else {
      throw ValidationError("--timeout takes a number of seconds, 0 or more.")
    }
  }
}
