import ArgumentParser
import SessionToolsBase

/// `session-tools rename`.
struct RenameCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename",
    abstract: "Give an item another identifier.",
    usage: "session-tools rename [<store>] <old> <new> [--service <name>] [<options>]",
    discussion: """
      The item stays in its service, group and installation; migrate --rename-service renames a \
      service. A sealed store does it in one change: no other process sees both names, or no name. \
      In the desktop's keyring the new name is stored before the old one is removed. Exit status \
      3 when there is no such item, 7 when there is an item of the new name.

      Example:
        session-tools rename ~/vault --service mail token old-token
      """)

  @OptionGroup(title: "Item") var place: ItemPlaceOptions

  @Argument(help: ItemPlaceOptions.storeHelp, completion: .custom(NameCompletion.storeOrItem))
  var first: String?
  @Argument(
    help: ArgumentHelp("The item's identifier.", valueName: "old"),
    completion: .custom(NameCompletion.item))
  var second: String?
  @Argument(
    help: ArgumentHelp("Its new identifier.", valueName: "new"),
    completion: .custom(NameCompletion.item))
  var third: String?

  @OptionGroup var access: AccessOptions

  @Flag(name: .long, help: "Replace an existing item of the new name.")
  var force = false

  private func words() throws -> (store: StoreLocation?, names: [String]) {
    try place.split([first, second, third].compactMap(\.self), names: ["<old>", "<new>"])
  }

  func validate() throws {
    _ = try words()
  }

  func run() throws {
    let (named, names) = try words()
    let old = try place.itemName(names[0])
    let new = try place.itemName(names[1])
    guard old != new else { throw Failure(.usage, "the two names are the same") }
    let open = try access.openItems(at: try named ?? Settings.store())
    let store = open.store
    // In the same order everywhere, so that two processes that swap names do not wait for each
    // other.
    let locked = [old, new].sorted()
    try store.withExclusiveAccess(to: locked[0], timeout: access.timeout) {
      try store.withExclusiveAccess(to: locked[1], timeout: access.timeout) {
        guard let value = try store.value(for: old) else {
          throw Failure.noItem(old, in: open.location)
        }
        guard try force || !store.contains(new) else {
          throw Failure.alreadyExists(new, in: open.location)
        }
        try store.apply([.put(value, for: new), .remove(old)])
      }
    }
    if StandardError.isTerminal {
      StandardError.say("\(open.location): \(old) renamed to \(new.identifier)")
    }
    open.close()
  }
}
