import ArgumentParser
import ToolBase

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
    try opener(of: location).openItems()
  }

  /// Returns what opens a store.
  func opener(of location: StoreLocation) -> StoreOpener {
    StoreOpener(location: location, key: key.argument, interaction: interaction, timeout: timeout)
  }
}
