import ArgumentParser

/// `session-tools slots`.
struct SlotsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "slots",
    abstract: "List, add, change or remove the keys that open a store.",
    discussion: """
      A store has 1 to 16 key slots, each of which opens all of it. Changing them rewrites a \
      small header, whatever the size of the store. A key whose slot was changed or removed \
      still opens copies of the store from before; to shut it out of what follows, run rotate \
      --revoke.

      Example:
        session-tools slots list ~/vault
      """,
    subcommands: [
      SlotsListCommand.self, SlotsAddCommand.self, SlotsChangeCommand.self,
      SlotsRemoveCommand.self,
    ])
}
