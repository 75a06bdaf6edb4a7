import ArgumentParser
import SessionToolsBase

/// `session-tools generate`.
struct GenerateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate",
    abstract: "Store a new random value.",
    usage: "session-tools generate [<store>] <identifier> [--service <name>] [<options>]",
    discussion: """
      The value is stored and not shown, unless --print is given. By default it has 24 letters \
      and digits: 142 bits of entropy. A character of alphanumeric gives 5.9 bits, of printable \
      6.5, of hexadecimal 4 and of digits 3.3. A word gives 10.3 bits: 8 words, 82 bits, are \
      good for a passphrase that a person types. Words are joined by hyphens; they are the \
      first short word list of the Electronic Frontier Foundation (CC BY 3.0 US). Exit status 7 \
      when the item already exists.

      Example:
        session-tools generate ~/vault --service mail password
        session-tools generate ~/vault --service disk passphrase --words 8 --print
      """)

  @OptionGroup(title: "Item") var item: ItemOptions
  @OptionGroup var access: AccessOptions

  @Option(name: .long, help: ArgumentHelp("The number of characters; 24 by default."))
  var length: Int?
  @Option(name: .long, help: "The characters to choose from; alphanumeric by default.")
  var alphabet: RandomValue.Alphabet?
  @Option(name: .long, help: ArgumentHelp("The number of words, instead of characters."))
  var words: Int?
  @Flag(name: .long, help: "Write the value to standard output, too.")
  var print = false
  @Flag(name: .long, help: "Replace an existing value.")
  var force = false

  private var value: RandomValue {
    if let words { return .words(words) }
    return .characters(length ?? 24, alphabet ?? .alphanumeric)
  }

  func validate() throws {
    guard words == nil || (length == nil && alphabet == nil) else {
      throw ValidationError("Give --words, or --length and --alphabet.")
    }
    guard length.map({ (1...4096).contains($0) }) ?? true else {
      throw ValidationError("--length takes 1 to 4096 characters.")
    }
    guard words.map({ (1...256).contains($0) }) ?? true else {
      throw ValidationError("--words takes 1 to 256 words.")
    }
  }

  func run() throws {
    let (name, location) = try item.resolved()
    let open = try access.openItems(at: location)
    let writer = ItemWriter(
      open, name, policy: force ? .replace : .refuse, timeout: access.timeout)
    let value = value
    let secret = value.make()
    try writer.store(secret, remark: "; \(Int(value.entropy)) bits of entropy")
    open.close()
    guard print else { return }
    try StandardOutput.write(secret)
    if StandardOutput.isTerminal { try StandardOutput.write("\n") }
  }
}
