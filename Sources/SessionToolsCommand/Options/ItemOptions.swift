import ArgumentParser
import SessionToolsBase

/// The name of one item, and the store it is in.
struct ItemOptions: ParsableArguments {
  @OptionGroup var place: ItemPlaceOptions

  @Argument(help: ItemPlaceOptions.storeHelp, completion: .custom(NameCompletion.storeOrItem))
  var first: String?
  @Argument(
    help: ArgumentHelp("The item within the service.", valueName: "identifier"),
    completion: .custom(NameCompletion.item))
  var second: String?

  private var words: [String] { [first, second].compactMap(\.self) }

  func validate() throws {
    _ = try place.split(words, names: ["<identifier>"])
  }

  /// Returns the item's full name, and its store.
  ///
  /// - Throws: `invalidName` if a part is empty or too long, and as ``Settings``.
  func resolved() throws -> (name: ItemName, location: StoreLocation) {
    let (store, names) = try place.split(words, names: ["<identifier>"])
    if let first, second != nil, place.service == nil, !first.contains(":"), !Files.exists(first) {
      // As other programs name an item. The status is that of the error that would follow.
      let hasService = try Settings.hasService()
      throw Failure(
        hasService ? .unavailable : .usage,
        "\(first): there is no store here, and the first of two words is the store. For an item of "
          + "a service of that name, give --service \(first.shellQuoted) \(names[0].shellQuoted)")
    }
    return (try place.itemName(names[0]), try store ?? Settings.store())
  }
}

/// The store and the namespace of the items that a command line names.
///
/// The store is an option, or the first word before the names: `get STORE IDENTIFIER`. How many
/// names a command takes is fixed, so a word more than that is the store, whatever it looks like
/// and whatever the settings are.
struct ItemPlaceOptions: ParsableArguments {
  static let storeHelp = ArgumentHelp(
    "The store; may be left out, as --store may.", valueName: "store")

  @OptionGroup var store: StoreOption

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The program or service it belongs to; without it, the settings name one.",
      valueName: "name"), completion: .custom(NameCompletion.service))
  var service: String?

  @Option(name: .long, help: ArgumentHelp("The access group, if it has one.", valueName: "name"))
  var group: String?

  @Option(name: .long, help: ArgumentHelp("The installation, if it has one.", valueName: "name"))
  var install: String?

  /// Splits the words of a command line into the store, if one is named, and the names.
  ///
  /// - Parameters:
  ///   - words: The words, in their order.
  ///   - names: The names that the command takes, for messages.
  /// - Returns: The store, and the names without it.
  /// - Throws: `ValidationError` if names are missing, or the store is named twice.
  func split(
    _ words: [String], names: [String]
  ) throws -> (store: StoreLocation?, names: [String]) {
    guard words.count >= names.count else {
      throw ValidationError("Missing expected argument '\(names[words.count])'")
    }
    guard words.count > names.count else { return (store.named, words) }
    guard store.named == nil else {
      throw ValidationError("Name the store once: with --store, or before the other words.")
    }
    return (try Self.location(words[0]), Array(words.dropFirst()))
  }

  /// Reads a store, with an error like that of an argument that can be nothing else.
  static func location(_ word: String) throws -> StoreLocation {
    do {
      return try StoreLocation(word)
    } catch let error as ValidationError {
      throw ValidationError("The value '\(word)' is invalid for '<store>': \(error.message)")
    }
  }

  /// Returns the full name of an item.
  ///
  /// - Throws: `invalidName` if a part is empty or too long, and as ``Settings/service()``.
  func itemName(_ identifier: String) throws -> ItemName {
    try ItemName(identifier, in: try namespace())
  }

  /// Returns the namespace of the items.
  ///
  /// - Throws: `invalidName` if a part is empty or too long, and as ``Settings/service()``.
  func namespace() throws -> StoreNamespace {
    try StoreNamespace(
      service: try service ?? Settings.service(), accessGroup: group,
      install: install.map(InstallIdentifier.init(rawValue:)))
  }
}
