import ArgumentParser
import SealedStore
import SessionToolsBase

/// `session-tools set`.
struct SetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Store a value.",
    usage: "session-tools set [<store>] <identifier> [--service <name>] [<options>]",
    discussion: """
      The value is read from standard input, byte for byte, up to 16 MiB, or 1 MiB in a database. \
      On a terminal it is asked for instead, twice: one line, not shown; and replacing a value is \
      confirmed first. An empty value is refused without --empty, because it is mostly what a \
      program that failed has written.

      Example:
        session-tools set ~/vault --service mail token
        printf %s "$TOKEN" | session-tools set ~/vault --service mail token
      """)

  @OptionGroup(title: "Item") var item: ItemOptions
  @OptionGroup var access: AccessOptions

  @Flag(name: .long, help: "Fail (exit status 7) when the item already exists.")
  var noOverwrite = false
  @Flag(name: .long, help: "Replace an existing value without asking.")
  var force = false
  @Flag(name: .long, help: "Allow an empty value.")
  var empty = false

  func validate() throws {
    try KeyArgument.checkDescriptors(access.secrets, isInputTaken: true)
    guard !noOverwrite || !force else {
      throw ValidationError("Give --no-overwrite or --force, not both.")
    }
  }

  func run() throws {
    let (name, location) = try item.resolved()
    let open = try access.openItems(at: location)
    var writer = ItemWriter(open, name, policy: policy, timeout: access.timeout)
    let value: SecretBytes
    if StandardInput.isTerminal {
      guard access.interaction.canAsk else {
        throw Failure(.usage, "give the value on standard input")
      }
      try writer.askIfNeeded()
      value = try askForValue(of: name, in: location)
    } else {
      value = try StandardInput.readValue(atMost: open.store.traits.maximumValueByteCount)
    }
    try ItemWriter.check(value, mayBeEmpty: empty)
    try writer.store(value)
    open.close()
  }

  private var policy: ItemWriter.Policy {
    if noOverwrite { return .refuse }
    return force || !StandardInput.isTerminal ? .replace : .ask
  }

  /// Asks twice, because a typing error in a hidden line is noticed only when it is needed.
  private func askForValue(of name: ItemName, in location: StoreLocation) throws -> SecretBytes {
    let value = try Question.ask("Value of \(name): ", about: "\(location)", isHidden: true)
    // Before the second question, whose answer could only be empty, too.
    try ItemWriter.check(value, mayBeEmpty: empty)
    let repeated = try Question.ask("Repeat the value: ", about: "\(location)", isHidden: true)
    guard repeated == value else {
      throw Failure(.usage, "the two values differ; nothing was changed")
    }
    return value
  }
}
