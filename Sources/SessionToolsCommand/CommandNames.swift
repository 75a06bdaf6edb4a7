import ArgumentParser

/// The names of the commands, as far as the parser of arguments does not check them.
///
/// The parser takes an unknown command for an argument too many, or complains about the options
/// behind it, and answers `help` of one with the help of the program.
enum CommandNames {
  /// What other programs call some of the commands.
  private static let otherNames = [
    "add": "set", "insert": "set", "put": "set", "show": "get", "ls": "list", "find": "list",
    "search": "list", "rm": "remove", "delete": "remove", "mv": "rename", "move": "rename",
    "clip": "copy", "new": "init", "create": "init",
  ]

  /// Parses the arguments of a process.
  ///
  /// - Throws: A usage failure for a command that there is not, with the one that may be meant, or
  ///   the parser's error.
  static func parse(_ arguments: [String]) throws -> any ParsableCommand {
    // The parser looks into all commands before it comes to the one that is named, which is more
    // than a quarter of a `get`. Errors and help are its own, with the whole name of the command.
    if let (command, rest) = try named(by: arguments),
      let parsed = try? command.parseAsRoot(Array(rest))
    {
      return parsed
    }
    return try RootCommand.parseAsRoot(arguments)
  }

  /// Checks the words that name a command, and returns the command and what is behind its name.
  private static func named(by arguments: [String]) throws -> (
    command: any ParsableCommand.Type, rest: ArraySlice<String>
  )? {
    var words = arguments[...]
    if words.first == "help" { words = words.dropFirst() }
    var command: any ParsableCommand.Type = RootCommand.self
    var names = [RootCommand.name]
    while case let subcommands = command.configuration.subcommands, !subcommands.isEmpty {
      // Options are the parser's.
      guard let word = words.first, !word.hasPrefix("-") else { return nil }
      guard let next = subcommands.first(where: { name(of: $0) == word }) else {
        // What stands for the command is left out, and this is its first argument.
        if command.configuration.defaultSubcommand != nil,
          suggestion(for: word, in: subcommands.map(name(of:))) == nil
        {
          return nil
        }
        throw unknown(word, in: subcommands, of: names.joined(separator: " "))
      }
      command = next
      names.append(word)
      words.removeFirst()
    }
    return arguments.first == "help" ? nil : (command, words)
  }

  private static func unknown(
    _ word: String, in subcommands: [any ParsableCommand.Type], of program: String
  ) -> Failure {
    let possible = subcommands.filter { $0.configuration.shouldDisplay }.map(name(of:))
    let suggestion = suggestion(for: word, in: possible)
    let advice = suggestion.map { "did you mean \($0)?" } ?? "\(program) --help lists them"
    return Failure(.usage, "there is no command '\(word)'; \(advice)")
  }

  private static func name(of command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? ""
  }

  /// Returns the name that may be meant by a word, if there is one.
  static func suggestion(for word: String, in names: [String]) -> String? {
    if let name = otherNames[word], names.contains(name) { return name }
    let allowed = max(1, word.count / 3)
    return names.map { (name: $0, distance: distance(word, $0)) }
      .filter { $0.distance <= allowed }
      .min { $0.distance < $1.distance }?.name
  }

  /// Returns how many letters must be inserted, removed, replaced or swapped with the next one.
  private static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left), Array(right))
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in left.indices {
      var current = [row + 1]
      for column in right.indices {
        var best = min(last[column + 1], current[column]) + 1
        best = min(best, last[column] + (left[row] == right[column] ? 0 : 1))
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      beforeLast = last
      last = current
    }
    return last[right.count]
  }
}
