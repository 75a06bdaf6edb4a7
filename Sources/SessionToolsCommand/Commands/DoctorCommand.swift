import ArgumentParser
import SecretServiceStore

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

      A store in a database needs no key; with one, it is checked that it opens the store. Connect \
      as the user that programs connect as: what that user lacks is what they lack.

      With --json: {"checks": [{"finding", "name", "remedy", "status"}], "isFine"}. A status is \
      ok, note or problem; a remedy may be null.

      Example:
        session-tools doctor
        session-tools doctor ~/vault
        session-tools doctor postgresql://app@db.example.com/app --instances 40
      """)

  @Argument(
    help: ArgumentHelp(
      "\(StoreLocation.help) Without it, \(Settings.storeVariable) or the settings may name one.",
      valueName: "store"), completion: .directory, transform: StoreLocation.init)
  var location: StoreLocation?

  @OptionGroup(title: "Key") var key: KeyOptions<OnlyStore>
  @OptionGroup(title: "Database") var database: DatabaseOptions<OnlyStore>
  @Option(
    name: .long,
    help: ArgumentHelp(
      "For a database: check that there are connections for this many processes that use it.",
      valueName: "number"))
  var instances: Int?
  @OptionGroup var interaction: InteractionOptions
  @OptionGroup var waiting: TimeoutOptions
  @OptionGroup var format: JSONOption

  func validate() throws {
    guard (1...1_000_000).contains(instances ?? 1) else {
      throw ValidationError("--instances takes a number of processes, 1 or more.")
    }
  }

  func run() throws {
    var checks: [Check]
    if let location {
      checks = (location.isInDatabase ? MachineChecks.ofAnyStore : MachineChecks.all())
      checks += try self.checks(of: location)
    } else {
      checks = MachineChecks.all()
      let ofDefault = try checksOfDefaultStore()
      // The store's own check of the keyring says more.
      if !ofDefault.contains(where: { $0.name == ServiceChecks.name }) {
        checks += ServiceChecks(.default, isNeeded: false).all()
      }
      checks += ofDefault
    }
    try DoctorOutput(checks: checks).write(format)
  }

  private func checks(of location: StoreLocation) throws -> [Check] {
    if !location.isInDatabase {
      try database.connection.checkIsEmpty(for: location)
      guard instances == nil else {
        throw Failure(.usage, "--instances is for a store in a database, postgresql://…")
      }
    }
    return switch location {
    case .secretService(let collection): ServiceChecks(collection, isNeeded: true).all()
    case .sealed(let path): StoreChecks(path: path, key: key, interaction: interaction).all()
    case .database(let address): checks(ofDatabase: address)
    }
  }

  private func checks(ofDatabase address: String) -> [Check] {
    let access: DatabaseAccess
    do {
      access = try database.connection.connect(
        to: address, interaction, timeout: waiting.timeout)
    } catch {
      return [.problem("connection", error)]
    }
    let key = key.argument ?? KeySearch.keyFileOfEnvironment.map(KeyArgument.keyFile)
    return DatabaseChecks(
      access: access, key: key, keyWords: self.key.words, interaction: interaction,
      instanceCount: instances
    ).all()
  }

  private func checksOfDefaultStore() throws -> [Check] {
    let found: (StoreLocation, origin: String)?
    do {
      found = try Settings.defaultStore()
    } catch {
      return [.problem("default store", error)]
    }
    guard let (location, origin) = found else { return [] }
    return [.ok("default store", "\(location), named in \(origin)")]
      + (try checks(of: location))
  }
}
