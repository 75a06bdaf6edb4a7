package import ArgumentParser

/// `session-tools`.
package struct RootCommand: ParsableCommand {
  static let name = "session-tools"

  package static let configuration = CommandConfiguration(
    commandName: name,
    abstract: "Keeps secrets sealed in a store, and looks after the store.",
    // Of the manual page; on a terminal, each topic is shown alone.
    discussion: HelpTopic.allCases.map(\.text).joined(separator: "\n\n"),
    version: Version.current,
    subcommands: [
      DemoReaderCommand.self, LockDemoCommand.self, AgentCommand.self,
    ],
    groupedSubcommands: [
      CommandGroup(
        name: "Items",
        subcommands: [
          SetCommand.self, GetCommand.self, ListCommand.self, RemoveCommand.self,
          GenerateCommand.self, EditCommand.self, RenameCommand.self, CopyCommand.self,
          OneTimePasswordCommand.self, RunCommand.self,
        ]),
      CommandGroup(
        name: "Stores and keys",
        subcommands: [
          InitCommand.self, SlotsCommand.self, RecipientCommand.self, RotateCommand.self,
          UnlockCommand.self, LockCommand.self,
        ]),
      CommandGroup(
        name: "Moving", subcommands: [MigrateCommand.self, ExportCommand.self, ImportCommand.self]),
      CommandGroup(
        name: "Logins", subcommands: [LoginCommand.self, TokenCommand.self, LogoutCommand.self]),
      CommandGroup(
        name: "Other programs",
        subcommands: [
          GitCredentialCommand.self, DockerCredentialCommand.self, CredentialServerCommand.self,
          SecretServiceCommand.self,
        ]),
      CommandGroup(
        name: "Looking after",
        subcommands: [
          DoctorCommand.self, VerifyCommand.self, RepairCommand.self, CompactCommand.self,
          AnchorCommand.self, AuthCommand.self, DemoCommand.self,
        ]),
    ])

  package init() {}
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
