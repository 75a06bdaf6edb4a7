import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools set`.
struct SetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Store a value.",
    discussion: """
      The value is read from standard input, byte for byte, up to 16 MiB. On a terminal it is \
      asked for instead: one line, not shown.

      Example:
        printf %s "$TOKEN" | session-tools set ~/vault --service mail token
      """)

  @OptionGroup var opening: OpeningOptions
  @OptionGroup(title: "Item") var item: ItemOptions

  @Flag(name: .long, help: "Fail (exit status 7) when the item already exists.")
  var noOverwrite = false

  func validate() throws {
    try KeyArgument.checkDescriptors([opening.key.argument], isInputTaken: true)
  }

  func run() throws {
    let key = try item.key()
    let open = try opening.openItems()
    let store = open.store
    let value = try readValue(for: key, atMost: store.traits.largestValueByteCount)
    if noOverwrite {
      // Two processes that check at the same time must not both find nothing.
      try store.withExclusiveAccess(to: key, timeout: opening.timeout) {
        if try store.contains(key) {
          throw Failure(.alreadyExists, "\(open.location): \(key) already exists")
        }
        try store.put(value, for: key)
      }
    } else {
      try store.put(value, for: key)
    }
    if StandardError.isTerminal {
      Protection.say(of: store, at: open.location, keyPlace: open.keyPlace)
    }
    open.close()
  }

  private func readValue(for key: StoreKey, atMost byteCount: Int) throws -> SecretBytes {
    guard StandardInput.isTerminal else {
      return try StandardInput.readValue(atMost: byteCount)
    }
    guard opening.interaction.canAsk else {
      throw Failure(.usage, "give the value on standard input")
    }
    return try Question.ask("Value of \(key): ", about: "\(opening.location)", isHidden: true)
  }
}
