import ArgumentParser
import SealedStore

/// `session-tools recipient`.
struct RecipientCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recipient",
    abstract: "Make a key for stores that are sealed to its public part.",
    discussion: """
      A recipient is a line that is not secret. A store that is sealed to it opens with the \
      secret key that belongs to the line: a recovery key that is kept offline, or the key of a \
      colleague. It needs neither the secret key nor anything else of theirs to seal a store to \
      them; but a person who exchanges the line on its way becomes the recipient.

      Example:
        session-tools recipient create /media/stick/recovery.key
        session-tools slots add ~/vault --new-recipient st-recipient-…
        session-tools get ~/vault --service mail token \\
          --recipient-key /media/stick/recovery.key
      """,
    subcommands: [Create.self, Show.self], defaultSubcommand: Show.self)

  /// `session-tools recipient create`.
  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create",
      abstract: "Make a secret key, and print the recipient that belongs to it.",
      discussion: """
        The file has mode 0600, and opens every store that is sealed to the recipient: keep it \
        away from all of them. It is never overwritten.

        Example:
          session-tools recipient create /media/stick/recovery.key
        """)

    @Argument(
      help: ArgumentHelp("The file for the secret key.", valueName: "file"), completion: .file())
    var file: String

    func run() throws {
      try StandardOutput.write(RecipientKey.create(at: file).recipient().text + "\n")
    }
  }

  /// `session-tools recipient show`.
  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Print the recipient that belongs to a secret key.",
      discussion: """
        Example:
          session-tools recipient show /media/stick/recovery.key
        """)

    @Argument(
      help: ArgumentHelp("The file with the secret key.", valueName: "file"), completion: .file())
    var file: String

    func run() throws {
      try StandardOutput.write(RecipientKey(file).recipient().text + "\n")
    }
  }
}
