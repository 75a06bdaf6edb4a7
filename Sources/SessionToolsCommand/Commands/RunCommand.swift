import ArgumentParser
import SessionToolsBase

/// `session-tools run`.
struct RunCommand: ParsableCommand, CommandOfOtherProgram {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run a command with items of a service in its environment.",
    usage: "session-tools run [<store>] [--service <name>] [<options>] -- <command> ...",
    discussion: """
      With --env, an item becomes the variable that you name. With --all, every item of the \
      service whose identifier matches becomes a variable of that name, so who may store such \
      items chooses names, too: give a pattern that only names of your own match. Nothing is run \
      if one of them cannot be a variable, or is known to change how programs run, such as PATH, \
      LD_PRELOAD, GIT_CONFIG_COUNT or TAR_OPTIONS; no list of these is whole. The command takes \
      the place of this process, so no copy of a value stays with a parent, and its exit status is \
      the command's. If an item is missing, or cannot be a variable, nothing is run. The command \
      gets its arguments byte for byte. Exit status 127 when there is no such command, 126 when it \
      cannot be run, as in shells.

      The variables are in the command's memory, where it cannot wipe them, and go on to every \
      program that it starts. Root and the user's own programs can read them \
      (/proc/PID/environ). The command writes no core dump.

      Example:
        session-tools run ~/vault --service deploy --env AWS_SECRET=aws -- ./deploy
        session-tools run ~/vault --service deploy --all 'DEPLOY_*' -- ./deploy
      """)

  @OptionGroup(title: "Items") var place: ItemPlaceOptions
  @Argument(help: ItemPlaceOptions.storeHelp, completion: .directory)
  var store: String?

  @Option(
    name: .customLong("env"),
    help: ArgumentHelp("A variable, and the item it is set to.", valueName: "name=identifier"),
    transform: ItemVariable.init(_:))
  var variables: [ItemVariable] = []

  @Option(
    name: .customLong("all"),
    help: ArgumentHelp(
      "Set a variable for every item with an identifier like this: * is any text, ? any character.",
      valueName: "pattern"), transform: NamePattern.init(_:))
  var patterns: [NamePattern] = []

  @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
  var command: [String] = []
  @OptionGroup var access: AccessOptions

  func validate() throws {
    _ = try namedStore()
    guard !command.isEmpty else {
      throw ValidationError("Write the command to run after --.")
    }
    guard !variables.isEmpty || !patterns.isEmpty else {
      throw ValidationError(
        "Name the variables of the command: --env NAME=IDENTIFIER, or --all PATTERN for the items "
          + "whose identifiers match, such as 'DEPLOY_*'.")
    }
    var names: Set<String> = []
    for variable in variables where !names.insert(variable.name).inserted {
      throw ValidationError("--env names the variable \(variable.name) twice.")
    }
  }

  private func namedStore() throws -> StoreLocation? {
    try place.split([store].compactMap(\.self), names: []).store
  }

  func run() throws {
    let namespace = try place.namespace()
    let named = try variables.map { try ItemName($0.identifier, in: namespace) }
    let open = try access.openItems(at: try namedStore() ?? Settings.store())
    // Its keys are not wiped: the kernel discards the memory of this process for the command's.
    let chosen =
      zip(variables.map(\.name), named).map { ($0, $1) } + (try matching(namespace, in: open))
    let values = try chosen.map { variable, name in
      (name: variable, value: try value(of: name, in: open))
    }
    for secret in access.secrets { secret?.closeOnExecution() }
    // Not what was parsed, in which bytes that are not UTF-8 were replaced.
    let error = System.execute(System.argumentsBehindTerminator, variables: values)
    let name = command[0]
    throw Failure(
      error.errno == SystemCallError.noSuchFile ? .commandNotFound : .commandNotRunnable,
      "\(name): \(CurrentProcess.message(for: error.errno))")
  }

  private func matching(
    _ namespace: StoreNamespace, in open: ItemStore
  ) throws -> [(String, ItemName)] {
    guard !patterns.isEmpty else { return [] }
    let matching = try open.store.names(in: namespace).filter { name in
      patterns.contains { $0.matches(name) }
    }
    guard !matching.isEmpty else {
      throw Failure(
        .notFound,
        "\(open.location): no item of \(namespace.service) is like what --all says. List them with "
          + "session-tools list \(words(for: open.location)) --service "
          + namespace.service.shellQuoted)
    }
    // A variable that --env names is set to what it says.
    let named = Set(variables.map(\.name))
    let names = matching.filter { !named.contains($0.identifier) }
    let unfit = names.filter { ItemVariable(namedAs: $0) == nil }
    guard unfit.isEmpty else { throw Self.cannotName(unfit, in: open) }
    return names.map { ($0.identifier, $0) }
  }

  /// Returns how a command line names the store.
  private func words(for location: StoreLocation) -> String {
    (access.database.connection.words(for: location.argument) + access.key.words).asTyped
  }

  /// How many options a message shows.
  private static let maximumOptionCount = 3

  /// Returns the failure for items whose identifiers are no names of variables.
  private static func cannotName(_ unfit: [ItemName], in open: ItemStore) -> Failure {
    let options = unfit.prefix(maximumOptionCount).map { itemName in
      let name = ItemVariable.suggestion(for: itemName) ?? "NAME"
      return "--env \(name)=\(itemName.identifier.shellQuoted)"
    }
    return Failure(
      .usage,
      "\(open.location): items of \(unfit[0].namespace.service) that cannot be variables by their "
        + "own names, or would change how programs run: "
        + unfit.map(\.identifier).joined(separator: ", ") + ". Name each variable that "
        + "the command needs: "
        + options.joined(separator: " ") + (unfit.count > options.count ? " ..." : ""))
  }

  private func value(of name: ItemName, in open: ItemStore) throws -> SecretBytes {
    guard let value = try open.value(for: name, as: "run") else {
      throw Failure.noItem(name, in: open.location)
    }
    guard !value.contains(0) else {
      throw StoreError(
        .unencodable, store: "\(open.location)",
        reason: "\(name) has a byte of zero in it, which ends the value of a variable",
        remedy: "Let the command read it with session-tools get")
    }
    return value
  }
}
