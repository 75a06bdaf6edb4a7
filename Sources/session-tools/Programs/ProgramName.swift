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
