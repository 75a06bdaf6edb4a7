import ArgumentParser

/// `session-tools auth`.
struct AuthCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "auth",
    abstract: "Check the ways to authenticate a person.",
    discussion: """
      Example:
        session-tools auth doctor
      """,
    subcommands: [AuthDoctorCommand.self], defaultSubcommand: AuthDoctorCommand.self)
}

/// `session-tools auth doctor`.
struct AuthDoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Report which ways to authenticate a person work here, which do not, and why.",
    discussion: """
      Asks no questions. A way that does not work is a note, with the remedy below it: a program \
      needs one way that works, not all.

      With --json: {"checks": [{"finding", "name", "remedy", "status"}], "isFine"}, as for doctor.

      Example:
        session-tools auth doctor --service login
      """)

  @Option(
    help: ArgumentHelp(
      "The PAM service of the program that asks for a password.", valueName: "name"))
  var service = "session-tools"

  @Option(
    help: ArgumentHelp(
      "The polkit action that the program asks for.", valueName: "identifier"))
  var action = "org.session-tools.unlock"

  @OptionGroup var format: JSONOption

  func run() throws {
    let checks = AuthenticationChecks(service: service, action: action)
    try DoctorOutput(checks: waiting { await checks.all() }).write(format)
  }
}
