import ArgumentParser
import SessionToolsBase

/// `session-tools edit`.
struct EditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Change a value in an editor.",
    usage: "session-tools edit [<store>] <identifier> [--service <name>] [<options>]",
    discussion: """
      Starts $VISUAL, $EDITOR or vi. An item that does not exist begins empty. Nothing is stored \
      if the value is unchanged, if it is empty (unless --empty is given), or if the editor does \
      not end with status 0. A newline that the editor adds to a last line without one is dropped.

      The value is in memory, in a file without a name, never in one on a disk; an editor that \
      opens files in another process, such as code or emacsclient, cannot open it. vim, neovim, \
      nano and emacs get options that keep them from writing swap files, backups and histories; \
      for any other editor, turn these off yourself. Memory may be moved into swap.

      Example:
        session-tools edit ~/vault --service mail recovery-codes
      """)

  @OptionGroup(title: "Item") var item: ItemOptions
  @OptionGroup var access: AccessOptions

  @Flag(name: .long, help: "Allow an empty value.")
  var empty = false

  func run() throws {
    guard !access.interaction.noInput else {
      throw Failure(.usage, "an editor asks for input; use set with --no-input")
    }
    let (name, location) = try item.resolved()
    let open = try access.openItems(at: location)
    let before = try open.value(for: name, as: "edit")
    // The editor shows only the name of a file in memory.
    if StandardError.isTerminal { StandardError.say("\(location): editing \(name)") }
    let value = try Editor.ofEnvironment.edit(
      before ?? SecretBytes(utf8: ""), atMost: open.store.traits.maximumValueByteCount)
    guard value != before, !(before == nil && value.isEmpty && !empty) else {
      return StandardError.say("\(location): \(name) is unchanged")
    }
    try ItemWriter.check(value, mayBeEmpty: empty)
    try store(value, for: name, instead: before, in: open)
    if StandardError.isTerminal {
      StandardError.say("\(location): \(name) \(before == nil ? "stored" : "replaced")")
    }
    open.close()
  }

  /// Stores the value, unless the item was changed while the editor ran and that must not be lost.
  private func store(
    _ value: SecretBytes, for name: ItemName, instead before: SecretBytes?, in open: ItemStore
  ) throws {
    var replaced = before
    while true {
      let current: SecretBytes? = try open.store.withExclusiveAccess(
        to: name, timeout: access.timeout
      ) {
        let current = try open.store.value(for: name)
        if current == replaced { try open.store.put(value, for: name) }
        return current
      }
      if current == replaced { return }
      let problem = "\(name) was changed while the editor ran"
      guard access.interaction.canAsk else {
        throw Failure(.failure, "\(open.location): \(problem); nothing was changed")
      }
      guard try Question.confirm("\(problem). Replace it?", about: "\(open.location)") else {
        throw Failure(.failure, "nothing was changed")
      }
      replaced = current
    }
  }
}
