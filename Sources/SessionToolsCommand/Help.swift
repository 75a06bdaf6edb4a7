import ArgumentParser

/// What is said about the tool as a whole, in a screen.
enum ToolHelp {
  /// Returns the text that a command line without a command asks for; `nil` if it asks for nothing
  /// of this.
  static func text(for arguments: [String], width: Int) -> String? {
    switch arguments {
    case [], ["help"], ["-h"], ["--help"]: overview(width: width)
    default:
      arguments.count == 2 && arguments[0] == "help"
        ? HelpTopic(rawValue: arguments[1])?.text.wrappedParagraphs(to: width) : nil
    }
  }

  private static let nameWidth = 19

  /// The groups of commands, and where to read more.
  private static func overview(width: Int) -> String {
    let configuration = RootCommand.configuration
    var lines = configuration.abstract.wrapped(to: width) + [""]
    for group in configuration.groupedSubcommands {
      lines.append("\(group.name):")
      for command in group.subcommands {
        let (name, abstract) = (
          command.configuration.commandName ?? "", command.configuration.abstract
        )
        lines += "  \(name.padded(to: nameWidth))\(abstract)"
          .wrapped(to: width, indentation: nameWidth + 2)
      }
    }
    let topics = HelpTopic.allCases.map(\.rawValue).joined(separator: ", ")
    lines += [""] + "More: session-tools help COMMAND, and help with \(topics).".wrapped(to: width)
    return lines.joined(separator: "\n")
  }
}

/// What commands have in common.
enum HelpTopic: String, CaseIterable {
  case stores, keys, settings
  case exitStatus = "exit-status"

  var text: String {
    switch self {
    case .stores:
      """
      A store is a directory: PATH, or sealed:PATH.

      secret-service: is the desktop's keyring: the items of all its collections, and the default \
      one for new items. secret-service:COLLECTION is one collection, by its label, or by the last \
      part of its path, which does not change. Only items of this library are used there.

      postgresql://USER@HOST/DATABASE is a store in a database, in the schema that --schema names. \
      The address names a host, or the directory of a socket \
      (postgresql://USER@/DATABASE?host=/var/run/postgresql), and it has no password. The password \
      is read from --password-file, or as psql does from the file that PGPASSFILE names (~/.pgpass \
      by default) or from the service that PGSERVICE names; otherwise it is asked for on the \
      terminal when the server wants one. The connection is made with TLS and a checked \
      certificate, except on this machine. The database never gets a key, a name or a value.

      Data goes to standard output, everything else to standard error. No secret is ever an \
      argument.

      Example:
        session-tools init ~/vault
        printf %s "$TOKEN" | session-tools set ~/vault --service mail token
        session-tools get ~/vault --service mail token
        session-tools get postgresql://app@db.example.com/app --service mail token \\
          --key-file app.key
      """
    case .keys:
      """
      Without a key option, the key of a store is looked for in the file that \
      SESSION_TOOLS_KEY_FILE names, then, for a store in a directory, where init puts it \
      ($XDG_DATA_HOME/session-tools/keys), in the desktop's keyring if a key slot names it, and \
      among the keys that unlock keeps. After that, a security key that is plugged in is used, or \
      a passphrase is asked for on the terminal.
      """
    case .settings:
      """
      Commands need not name the store if SESSION_TOOLS_STORE does, or the file \
      $XDG_CONFIG_HOME/session-tools/config (~/.config by default) with the lines

        store = ~/vault
        service = mail

      of which the second one stands for --service of an item. Both are optional. A store in a \
      database is then in the schema session_tools, and its password where psql finds it.

      With the line audit = journald, or audit = FILE, each read of an item by get, copy, edit, \
      run, otp, token, export --plaintext, git-credential, docker-credential, credential-server \
      and secret-service is recorded: item, process, executable, unit and outcome, never a value. \
      In a file, each is a line of JSON; in the journal, journalctl -t session-tools shows them. \
      What cannot be recorded, as on a full disk, is reported, and read all the same; \
      secret-service reads this line when it starts.

      init, repair, rotate, export, import, migrate, anchor check and credential-server always \
      name the store; lock without one locks all.
      """
    case .exitStatus:
      """
      Exit status:
      \(ExitStatus.list())
      """
    }
  }
}

extension String {
  /// Returns the paragraphs in lines of at most a number of characters; lines that are indented
  /// stay as they are.
  fileprivate func wrappedParagraphs(to width: Int) -> String {
    split(separator: "\n", omittingEmptySubsequences: false)
      .flatMap { $0.hasPrefix(" ") ? [String($0)] : String($0).wrapped(to: width) }
      .joined(separator: "\n")
  }
}
