import ArgumentParser
import SessionToolsBase
import SessionToolsCommand

/// `session-tools-database doctor`.
struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check everything a store in a database depends on, and say how to fix it.",
    discussion: """
      Changes nothing, and needs no key; with one, checks that it opens the store. Connect as the \
      user that programs connect as: what that user lacks is what they lack. Each line is ok, a \
      note (worth knowing, nothing is broken) or a problem, with what to do below. The exit \
      status is that of the worst problem, or 0.

      With --json: {"checks": [{"finding", "name", "remedy", "status"}], "isFine"}. A status is \
      ok, note or problem; a remedy may be null.

      Example:
        session-tools-database doctor postgresql://app@db.example.com/app
        session-tools-database doctor postgresql://app@db.example.com/app \\
          --key-file app.key --instances 40
      """)

  @OptionGroup var database: DatabaseOptions
  @OptionGroup(title: "Key") var key: KeyOptions
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Check that there are connections for this many processes that use the store.",
      valueName: "number"))
  var instances: Int?
  @OptionGroup var format: JSONOption

  func validate() throws {
    guard (1...1_000_000).contains(instances ?? 1) else {
      throw ValidationError("--instances takes a number of processes, 1 or more.")
    }
  }

  func run() throws {
    try DoctorOutput(checks: checks()).write(format)
  }

  private func checks() throws -> [Check] {
    let access: DatabaseAccess
    do {
      access = try database.connect()
    } catch {
      return [.problem("connection", error)]
    }
    let key = key.argument ?? KeySearch.keyFileOfEnvironment.map(KeyArgument.keyFile)
    return DatabaseChecks(
      access: access, key: key, interaction: database.interaction, instanceCount: instances
    ).all()
  }
}
