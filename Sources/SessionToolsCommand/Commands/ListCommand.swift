import ArgumentParser
import Foundation
import SealedStore
import SessionToolsBase
import StoreMigration

/// `session-tools list`.
struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the names of the items.",
    usage: "session-tools list [<store>] [<pattern>] [<options>]",
    discussion: """
      With a pattern, only of those whose identifier is like it: * is any text, ? any character. \
      A single argument is the store if it is a directory, or begins as a path does (/, ./, ../, \
      ~/) or as sealed:, secret-service: or postgresql: do. Otherwise it is a pattern if it has * \
      or ?, or if there is a default store.

      Four columns: service, group, install, identifier; a part that an item does not have is \
      empty. On a terminal they are aligned under their names, with the day and time at which a \
      sealed store's item was changed last; otherwise each line is an item, with its fields \
      separated by tabs. Control characters and backslashes in names are written \\t, \\n, \\\\, \
      \\u{1b}.

      With --json: {"items": [{"changed", "group", "identifier", "install", "service"}]}, null \
      where an item has no such part; changed is a time as 2026-01-31T12:00:00Z, or null for an \
      item that version 0.3.0 put, or of another kind of store. Names are exact there, with the \
      escapes of JSON.

      With --tree, a line for each part of a name: service, group, install, and the identifier, \
      split behind its slashes.

      Example:
        session-tools list ~/vault --service mail
        session-tools list 'web/*'
        session-tools list ~/vault 'token*' --tree
      """)

  @OptionGroup var store: StoreOption
  @Argument(help: ItemPlaceOptions.storeHelp, completion: .directory)
  var first: String?
  @Argument(
    help: ArgumentHelp("Only identifiers like this.", valueName: "pattern"),
    completion: .custom(NameCompletion.item))
  var second: String?
  @OptionGroup(title: "Items") var selected: SelectionOptions
  @Flag(name: .long, help: "Write the names as a tree, for a person.")
  var tree = false
  @OptionGroup var format: JSONOption
  @OptionGroup var access: AccessOptions

  func validate() throws {
    guard first == nil || second == nil || store.named == nil else {
      throw ValidationError("Name the store once: with --store, or before the pattern.")
    }
    // Whether a single word without * and ? is a pattern depends on the settings.
    let isPattern =
      second != nil || store.named != nil
      || first.map { Self.hasWildcard($0) && !StoreLocation.isStore($0) } ?? false
    guard first == nil || !isPattern || selected.identifier == nil else {
      throw ValidationError("Give one pattern: with --identifier, or as an argument.")
    }
    if let first, second != nil || isStore(first) { _ = try ItemPlaceOptions.location(first) }
    guard !tree || !format.json else { throw ValidationError("Give --tree or --json, not both.") }
  }

  /// What a single word on the command line means.
  private enum SingleWord {
    case store, pattern
    /// A pattern without * and ?, which may also be a store with a typing error in its name.
    case exactPattern
  }

  private func meaning(of word: String) throws -> SingleWord {
    let isWild = Self.hasWildcard(word)
    // By its form alone, where that is possible.
    if isWild, !word.utf8.contains(where: { "/:".utf8.contains($0) }) { return .pattern }
    if StoreLocation.isStore(word) || Files.isDirectory(word) { return .store }
    if isWild { return .pattern }
    // With --identifier there is a pattern already, so that only the store is left to name.
    return try selected.identifier == nil && Settings.defaultStore() != nil ? .exactPattern : .store
  }

  /// Returns whether a single word is certainly the store.
  private func isStore(_ word: String) -> Bool {
    // Settings that cannot be read are reported when the store is opened.
    guard store.named == nil, let meaning = try? meaning(of: word) else { return false }
    return meaning == .store
  }

  private static func hasWildcard(_ word: String) -> Bool {
    word.utf8.contains { "*?".utf8.contains($0) }
  }

  func run() throws {
    var selection = selected.selection
    let items: Items
    if let first, second == nil, store.named == nil {
      switch try meaning(of: first) {
      case .store: items = try self.items(inStoreOf: first)
      case .pattern:
        selection.identifierPattern = first
        items = try self.items(at: Settings.store())
      case .exactPattern:
        selection.identifierPattern = first
        let location = try Settings.store()
        items = try self.items(at: location)
        guard items.names.contains(where: selection.contains) else {
          throw Self.nothingLike(first, in: location)
        }
      }
    } else {
      let location = try second == nil ? nil : first.map(ItemPlaceOptions.location)
      selection.identifierPattern = second ?? first ?? selected.identifier
      items = try self.items(at: location ?? store.location())
    }
    try write(items.names.filter(selection.contains), items.times)
  }

  private static func nothingLike(_ word: String, in location: StoreLocation) -> Failure {
    Failure(
      .unavailable,
      "'\(word)' was taken for a pattern, because it is no directory, and nothing in the default "
        + "store \(location) is like it. For a store, give its path with --store.")
  }

  private struct Items {
    let names: [ItemName]
    /// When they were changed last, if it is to be written and the store keeps it.
    let times: [ItemName: Date]
  }

  /// Returns the items of the store that a single word names.
  ///
  /// - Throws: As opening the store; a store that is not there may have been meant for a pattern.
  private func items(inStoreOf word: String) throws -> Items {
    do {
      return try items(at: ItemPlaceOptions.location(word))
    } catch let error as StoreError
      where error.isWithoutStoreInDirectory && Self.hasWildcard(word)
    {
      throw Failure(
        .unavailable,
        "\(error.store): there is no store here. The argument was taken for a store, because it "
          + "begins as a path does; give a pattern with --identifier.")
    }
  }

  private func items(at location: StoreLocation) throws -> Items {
    let store = try access.openItems(at: location).store
    guard let store = store as? SealedFileStore else {
      return Items(names: try store.names(in: nil), times: [:])
    }
    let names = try ProgressLine.during("listing") { try store.names(in: nil, progress: $0) }
    let areTimesWritten = format.json || StandardOutput.isTerminal && !tree
    return Items(names: names, times: areTimesWritten ? try store.timesOfChange() : [:])
  }

  private func write(_ names: [ItemName], _ times: [ItemName: Date]) throws {
    if tree { return try StandardOutput.write(NameTree(names.sorted()).text) }
    if format.json {
      return try format.write(
        Output(items: names.map { Output.Item(name: $0, changed: times[$0]) }))
    }
    // Programs read the names by their places; only a person gets more.
    guard StandardOutput.isTerminal else {
      var table = Table(ItemName.columnNames)
      table.rows = names.map(\.columns)
      return try table.write()
    }
    // Before the name, which may be long; a narrow terminal has no room for it.
    let isNarrow = (StandardOutput.columnCount ?? 80) < 80
    var table = Table(ItemName.columnNames.dropLast() + ["CHANGED", "IDENTIFIER"])
    table.rows = names.map { name in
      let time = isNarrow ? nil : times[name].map(Self.text)
      return name.columns.dropLast() + [time ?? "", name.identifier]
    }
    try table.write()
  }

  private static func text(of time: Date) -> String {
    let time = Calendar.current.dateComponents(
      [.year, .month, .day, .hour, .minute], from: time)
    func two(_ part: Int?) -> String { String(format: "%02d", part ?? 0) }
    return "\(time.year ?? 0)-\(two(time.month))-\(two(time.day)) "
      + "\(two(time.hour)):\(two(time.minute))"
  }

  private struct Output: Encodable {
    struct Item: Encodable {
      private enum CodingKeys: CodingKey {
        case changed
      }

      let name: ItemName
      let changed: Date?

      func encode(to encoder: any Encoder) throws {
        try ItemOutput(name).encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(changed?.formatted(.iso8601), forKey: .changed)
      }
    }

    let items: [Item]
  }
}
