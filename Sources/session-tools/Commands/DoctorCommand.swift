import ArgumentParser
import SecretServiceStore

/// `session-tools doctor`.
struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check everything a store depends on, and say how to fix it.",
    discussion: """
      Without a store, checks only the machine and the desktop's keyring. Changes nothing, and \
      asks for nothing but a passphrase. Each line is ok, a note (worth knowing, nothing is \
      broken) or a problem, with the command that fixes it below. The exit status is that of the \
      worst problem, or 0. A migration that was not closed is a note, with how far it is, if its \
      journal is where migrate puts it: beside the store it migrates to.

      With --json: {"checks": [{"finding", "name", "remedy", "status"}], "isFine"}. A status is \
      ok, note or problem; a remedy may be null.

      Example:
        session-tools doctor ~/vault
      """)

  @Argument(
    help: ArgumentHelp("\(StoreLocation.help)", valueName: "store"),
    completion: .directory, transform: StoreLocation.init)
  var location: StoreLocation?

  @OptionGroup(title: "Key") var key: KeyOptions
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var format: JSONOption

  func run() throws {
    var checks = MachineChecks.all()
    switch location {
    case nil: checks += ServiceChecks(.default, isNeeded: false).all()
    case .secretService(let collection): checks += ServiceChecks(collection, isNeeded: true).all()
    case .sealed(let path):
      checks += StoreChecks(path: path, key: key, interaction: interaction).all()
    }
    try DoctorOutput(checks: checks).write(format)
  }
}
