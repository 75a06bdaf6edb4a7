import ArgumentParser
import Foundation
import SealedStore
import SessionToolsBase
import StoreMigration

/// `session-tools export`.
struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Copy items into an archive that opens with a passphrase.",
    discussion: """
      The archive is a sealed store, a directory, that a passphrase opens on any machine, with \
      this or any other command. It is created whole or not at all. Exit status 9 when some items \
      could not be read, or none of the store's items was chosen; then there is no archive.

      With --plaintext it is a file of JSON Lines instead, mode 0600, or with - standard output, \
      which may not be a terminal: {"base64" or "value", "group", "identifier", "install", \
      "service"}. Anyone who has it can read the values.

      Example:
        session-tools export ~/vault vault.archive
        session-tools export ~/vault --plaintext - | age -r age1... > items.age
      """)

  @OptionGroup var opening: OpeningOptions<StoreArgument>
  @Argument(help: "The archive to make.", completion: .directory)
  var archive: String

  @Option(
    name: .long,
    help: ArgumentHelp("A file with the archive's passphrase.", valueName: "file"),
    completion: .file())
  var archivePassphraseFile: String?
  @Option(
    name: .customLong("archive-passphrase-fd"),
    help: ArgumentHelp(
      "A file descriptor to read the archive's passphrase from.", valueName: "number"))
  var archivePassphraseDescriptor: Int32?
  @Flag(name: .long, help: "Write the values in plain text, for everyone to read.")
  var plaintext = false

  @OptionGroup(title: "Items") var selected: SelectionOptions
  @OptionGroup(title: "Passphrase cost") var cost: PassphraseCostOptions
  @OptionGroup var format: JSONOption

  /// The source of the passphrase, if one was given; otherwise it is asked for.
  private var passphrase: KeyArgument? {
    archivePassphraseFile.map(KeyArgument.passphraseFile)
      ?? archivePassphraseDescriptor.map(KeyArgument.passphraseDescriptor)
  }

  func validate() throws {
    guard archivePassphraseFile == nil || archivePassphraseDescriptor == nil else {
      throw ValidationError("Give one passphrase for the archive, not several.")
    }
    guard !plaintext || passphrase == nil else {
      throw ValidationError("--plaintext takes no passphrase.")
    }
    try cost.check(plaintext ? nil : passphrase ?? .passphrasePrompt)
    try KeyArgument.checkDescriptors(opening.access.secrets + [passphrase])
  }

  func run() throws {
    if plaintext, archive == "-", StandardOutput.isTerminal {
      throw Failure(.usage, "values in plain text are not written to a terminal; name a file")
    }
    if archive != "-" || !plaintext, Files.exists(archive) {
      throw Failure(.alreadyExists, "\(archive): something of that name already exists")
    }
    guard Files.exists(archive.parentPath) else {
      throw Failure(.unavailable, "\(archive): the directory above it does not exist")
    }
    if archive != "-" || !plaintext, let outer = Files.store(around: archive) {
      throw Failure(
        .usage, "\(archive) is inside the store \(outer); choose a place outside of it")
    }
    let source = try openedStore()
    if plaintext {
      try exportPlain(source)
    } else {
      try exportSealed(source)
    }
  }

  /// Opens the store; a passphrase that does not may be meant for the archive.
  private func openedStore() throws -> MigratedStore {
    do {
      return try opening.openForMigration()
    } catch let error as StoreError where error.code == .wrongKey && isForArchive {
      throw error.advising(
        [error.remedy, "For the archive, give --archive-passphrase-file"]
          .compactMap(\.self).joined(separator: ". "))
    }
  }

  private var isForArchive: Bool {
    !plaintext && passphrase == nil && opening.key.argument?.isPassphrase == true
  }

  private func exportSealed(_ source: MigratedStore) throws {
    let prompt = PassphrasePrompt(path: archive, interaction: opening.interaction)
    let key = try NewKey(
      passphrase ?? .passphrasePrompt, cost: cost.cost, prompt, outside: archive)
    // Under a temporary name until it is complete.
    let partial = "\(archive).\(UUID().uuidString).partial"
    do {
      let target = try SealedFileStore.create(
        at: partial, key: key.maker, options: SealedFileStore.Options(onNotice: Notices.report))
      var options = MigrationOptions()
      options.selection = selected.selection
      let report = try MigrationOutput.copy(from: source, to: target, options)
      if report.hasNoItems, !report.isComplete {
        StandardError.complain("no archive was made")
        try MigrationOutput(format: format, of: .export).write(report)
      }
      try FileManager.default.moveItem(atPath: partial, toPath: archive)
      try Files.synchronize(archive.parentPath)
      try MigrationOutput(format: format, of: .export).write(report)
    } catch {
      // This process made it a moment ago, under a name that no other process knows.
      try? FileManager.default.removeItem(atPath: partial)
      throw error
    }
  }

  private func exportPlain(_ source: MigratedStore) throws {
    let log = try source.location.flatMap { try AccessLog(of: "export", store: $0) }
    let listing = try source.store.listing()
    let selection = selected.selection
    let omissions = try selection.omissions(of: listing, orInstead: source.foundInstead)
    var lines: [SecretBytes] = []
    var failures: [(ItemName, StoreError)] = []
    for name in listing.names where selection.contains(name) && Migration.isMovable(name) {
      do throws(StoreError) {
        if let value = try source.store.value(for: name) {
          lines.append(try PlainItems.line(for: name, value))
          log?.note(name, .read)
        }
      } catch {
        log?.note(name, .failed(error))
        failures.append((name, error))
      }
    }
    let isComplete = failures.isEmpty && omissions.isEmpty && listing.damage == nil
    if archive == "-" {
      for line in lines { try StandardOutput.write(line) }
    } else if isComplete || !lines.isEmpty {
      try SecretFile.create(archive, content: SecretBytes(joining: lines))
    }
    for (name, error) in failures { StandardError.say("session-tools: \(name): \(error)") }
    for omission in omissions { StandardError.say("session-tools: left out: \(omission.text)") }
    if let damage = listing.damage {
      StandardError.say("session-tools: the source is damaged: \(damage)")
    }
    StandardError.say(
      "session-tools: \(Size.count(lines.count, "item")) in plain text, for everyone to read")
    guard isComplete else {
      throw ExitCode(ExitStatus.incomplete.rawValue)
    }
  }
}
