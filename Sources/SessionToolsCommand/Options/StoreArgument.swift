import ArgumentParser

/// The store of a command that looks after one.
protocol StoreChoice: ParsableArguments {
  /// Returns the store.
  ///
  /// - Throws: As ``Settings/store()``, if the command line may leave it out.
  func location() throws -> StoreLocation
}

/// The argument that names a store, of commands that must not take another one by mistake.
struct StoreArgument: StoreChoice {
  @Argument(
    help: ArgumentHelp("\(StoreLocation.help)", valueName: "store"),
    completion: .directory, transform: StoreLocation.init)
  var named: StoreLocation

  func location() -> StoreLocation { named }
}

/// The argument that names a store; without it, the default store is meant.
struct OptionalStoreArgument: StoreChoice {
  @Argument(
    help: ArgumentHelp(
      "\(StoreLocation.help) Without it, \(Settings.storeVariable) or the settings name one.",
      valueName: "store"), completion: .directory, transform: StoreLocation.init)
  var named: StoreLocation?

  func location() throws -> StoreLocation { try named ?? Settings.store() }
}

/// The arguments that name a store and one of its key slots; without the first one, the default
/// store is meant.
struct SlotArguments: StoreChoice {
  @Argument(help: ItemPlaceOptions.storeHelp, completion: .directory)
  var first: String?
  @Argument(help: ArgumentHelp("The slot's number, as in slots list.", valueName: "slot"))
  var second: String?

  func validate() throws {
    _ = try slot()
    if let first, second != nil { _ = try ItemPlaceOptions.location(first) }
  }

  func location() throws -> StoreLocation {
    guard let first, second != nil else { return try Settings.store() }
    return try ItemPlaceOptions.location(first)
  }

  /// Returns the number of the slot, which is the last word.
  ///
  /// - Throws: `ValidationError` if the slot is missing or not a number.
  func slot() throws -> Int {
    guard let word = second ?? first else {
      throw ValidationError("Missing expected argument '<slot>'")
    }
    guard let number = Int(word) else {
      throw ValidationError("The value '\(word)' is invalid for '<slot>'")
    }
    return number
  }
}

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
