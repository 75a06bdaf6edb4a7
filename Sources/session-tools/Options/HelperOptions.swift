import ArgumentParser

/// The store of a command that another program starts, and its key.
struct HelperOptions: ParsableArguments {
  @Option(
    name: .customLong("store"),
    help: ArgumentHelp(
      "\(StoreLocation.help) By default, the one that \(StoreLocation.environmentVariable) names.",
      valueName: "store"),
    completion: .directory, transform: StoreLocation.init)
  var location: StoreLocation?

  @OptionGroup(title: "Key") var key: KeyOptions
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var waiting: TimeoutOptions

  /// Opens the store.
  ///
  /// - Throws: As `StoreOpener`, and a usage failure if no store is named.
  func open() throws -> ItemStore {
    guard let location = try location ?? StoreLocation.ofEnvironment() else {
      throw Failure(
        .usage, "no store is named; give --store, or set \(StoreLocation.environmentVariable)")
    }
    return try StoreOpener(
      location: location, key: key.argument, interaction: interaction, timeout: waiting.timeout
    ).openItems()
  }
}
