import ArgumentParser
import ToolBase

/// The option that names a store; without it, the default store is meant.
struct StoreOption: ParsableArguments {
  @Option(
    name: .customLong("store"),
    help: ArgumentHelp(
      "\(StoreLocation.help) Without it, \(Settings.storeVariable) or the settings name one.",
      valueName: "store"), completion: .directory, transform: StoreLocation.init)
  var named: StoreLocation?

  /// Returns the store that is named, or the default one.
  ///
  /// - Throws: As ``Settings/store()``.
  func location() throws -> StoreLocation {
    if let named { return named }
    return try Settings.store()
  }
}
