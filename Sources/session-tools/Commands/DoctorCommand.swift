import ArgumentParser
import SecretServiceStore
import SessionToolsCommand

/// `session-tools doctor`.
struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check everything a store depends on, and say how to fix it.",
    discussion: """
      Without a store, checks the machine, the desktop's keyring, and the default store if there \
      is one. Changes nothing, and asks for nothing but a passphrase. Each line is ok, a note \
      (worth knowing, nothing is broken) or a problem, with the command that fixes it below. The \
      exit status is that of the worst problem, or 0. A migration that was not closed is a note, \
      with how far it is, if its journal is where migrate puts it: beside the store it migrates to.

      With --json: {"checks": [{"finding", "name", "remedy", "status"}], "isFine"}. A status is \
      ok, note or problem; a remedy may be null.

      Example:
        session-tools doctor
        session-tools doctor ~/vault
      """)

  @Argument(
    help: ArgumentHelp(
      "\(StoreLocation.help) Without it, \(Settings.storeVariable) or the settings may name one.",
      valueName: "store"), completion: .directory, transform: StoreLocation.init)
  var location: StoreLocation?

  @OptionGroup(title: "Key") var key: KeyOptions
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var format: JSONOption

  func run() throws {
    var checks = MachineChecks.all()
    if let location {
      checks += self.checks(of: location)
    } else {
      let ofDefault = checksOfDefaultStore()
      // The store's own check of the keyring says more.
      if !ofDefault.contains(where: { $0.name == ServiceChecks.name }) {
        checks += ServiceChecks(.default, isNeeded: false).all()
      }
      checks += ofDefault
    }
    try DoctorOutput(checks: checks).write(format)
  }

  private func checks(of location: StoreLocation) -> [Check] {
    switch location {
    case .secretService(let collection): ServiceChecks(collection, isNeeded: true).all()
    case .sealed(let path): StoreChecks(path: path, key: key, interaction: interaction).all()
    }
  }

  private func checksOfDefaultStore() -> [Check] {
    do {
      guard let (location, origin) = try Settings.defaultStore() else { return [] }
      return [.ok("default store", "\(location), named in \(origin)")] + checks(of: location)
    } catch {
      return [.problem("default store", error)]
    }
  }
}
