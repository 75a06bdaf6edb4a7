import ArgumentParser

/// How a store is opened, whichever it is.
struct AccessOptions: ParsableArguments {
  @OptionGroup(title: "Key") var key: KeyOptions
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var waiting: TimeoutOptions

  var timeout: Duration { waiting.timeout }

  /// Opens a store of any kind for its items.
  ///
  /// - Throws: As `StoreOpener`.
  func openItems(at location: StoreLocation) throws -> ItemStore {
    try StoreOpener(
      location: location, key: key.argument, interaction: interaction, timeout: timeout
    ).openItems()
  }
}
