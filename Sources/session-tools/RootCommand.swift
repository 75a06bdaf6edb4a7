import ArgumentParser
import SessionToolsCommand

/// `session-tools`.
struct RootCommand: RootToolCommand {
  static let name = "session-tools"
  static let configuration = CommandConfiguration(
    commandName: name,
    abstract: "Keeps secrets sealed in a store, and looks after the store.",
    discussion: """
      A sealed store is named by its directory: PATH, or sealed:PATH. Without a key option, its \
      key is looked for in the file that SESSION_TOOLS_KEY_FILE names, then where init puts it \
      ($XDG_DATA_HOME/session-tools/keys), then in the desktop's keyring if a key slot names it, \
      then among the keys that unlock keeps. After that, a passphrase is asked for on the terminal.

      Commands need not name the store if SESSION_TOOLS_STORE does, or the file \
      $XDG_CONFIG_HOME/session-tools/config (~/.config by default) with the lines

        store = ~/vault
        service = mail

      of which the second one stands for --service of an item. Both are optional. init, repair, \
      rotate, export, import, migrate, anchor check and credential-server always name the store; \
      lock without one locks all.

      secret-service: is the desktop's keyring: the items of all its collections, and the default \
      one for new items. secret-service:COLLECTION is one collection, by its label, or by the last \
      part of its path, which does not change. Only items of this library are used there.

      Data goes to standard output, everything else to standard error. No secret is ever an \
      argument.

      Example:
        session-tools init ~/vault
        printf %s "$TOKEN" | session-tools set ~/vault --service mail token
        session-tools get ~/vault --service mail token
        SESSION_TOOLS_STORE=~/vault session-tools get --service mail token

      Exit status:
      \(ExitStatus.list())
      """,
    version: Version.current,
    subcommands: [
      InitCommand.self, SetCommand.self, GetCommand.self, ListCommand.self, RemoveCommand.self,
      GenerateCommand.self, EditCommand.self, RenameCommand.self, CopyCommand.self,
      UnlockCommand.self, LockCommand.self,
      VerifyCommand.self, RepairCommand.self, CompactCommand.self, SlotsCommand.self,
      RecipientCommand.self, RotateCommand.self, AnchorCommand.self, MigrateCommand.self,
      ExportCommand.self, ImportCommand.self, LoginCommand.self, TokenCommand.self,
      LogoutCommand.self,
      RunCommand.self, GitCredentialCommand.self, DockerCredentialCommand.self,
      CredentialServerCommand.self, DoctorCommand.self, AuthCommand.self, DemoCommand.self,
      DemoReaderCommand.self, LockDemoCommand.self, AgentCommand.self,
    ])
}

/// The names under which other programs start this one, by a link.
enum ProgramName {
  private static let subcommands = [
    "docker-credential-session-tools": "docker-credential",
    "git-credential-session-tools": "git-credential",
  ]

  /// Returns the arguments, with the subcommand that the program's name stands for.
  static func arguments(of commandLine: [String]) -> [String] {
    let name = commandLine.first?.split(separator: "/").last.map(String.init) ?? ""
    let subcommand = subcommands[name].map { [$0] } ?? []
    return subcommand + commandLine.dropFirst()
  }
}
