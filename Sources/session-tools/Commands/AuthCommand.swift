import ArgumentParser

/// `session-tools auth`.
struct AuthCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "auth",
    abstract: "Look at the ways to authenticate the person in front.",
    subcommands: [AuthDoctorCommand.self])
}

/// `session-tools auth doctor`.
struct AuthDoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Say which ways to authenticate a person work here, which not, and why.",
    discussion: """
      Asks nobody anything. A way that does not work is a note, with what mends it below: a program \
      needs one that works, not all.

      With --json: {"checks": [{"finding", "name", "remedy", "status"}], "isFine"}, as doctor.
      """)

  @Option(
    help: ArgumentHelp(
      "The PAM service of the program that is to ask for a password.", valueName: "name"))
  var service = "session-tools"

  @Option(
    help: ArgumentHelp(
      "The polkit action of the program that is to ask.", valueName: "identifier"))
  var action = "org.session-tools.unlock"

  @OptionGroup var format: JSONOption

  func run() throws {
    let checks = AuthenticationChecks(service: service, action: action)
    try DoctorOutput(checks: waiting { await checks.all() }).write(format)
  }
}
