import ArgumentParser
import SealedStore
import SessionTools

/// One of the stores that a command uses.
protocol StoreSide {
  /// The name in help and messages.
  static var name: String { get }
  /// The prefix of the names of its options; empty for the only store.
  static var prefix: String { get }
}

extension StoreSide {
  /// What the names of its options begin with.
  static var optionStart: String { prefix.isEmpty ? "--" : "--\(prefix)-" }

  /// Returns the name of an option, without the dashes before it.
  static func option(_ name: String) -> String { "\(optionStart.dropFirst(2))\(name)" }
}

/// The only store of a command.
enum OnlyStore: StoreSide {
  static let name = "store"
  static let prefix = ""
}

/// The store that items are migrated from.
enum SourceSide: StoreSide {
  static let name = "source"
  static let prefix = "from"
}

/// The store that items are migrated to.
enum TargetSide: StoreSide {
  static let name = "target"
  static let prefix = "to"
}

/// The key of one of the stores of a migration.
struct MigrationKeyOptions<Side: StoreSide>: KeyChoice {
  static var owner: String { "the \(Side.name) " }

  @Option(
    name: .customLong("\(Side.prefix)-key-file"),
    help: ArgumentHelp("The \(Side.name)'s key file.", valueName: "file"), completion: .file())
  var keyFile: String?

  @Option(
    name: .customLong("\(Side.prefix)-passphrase-file"),
    help: ArgumentHelp("A file with the \(Side.name)'s passphrase.", valueName: "file"),
    completion: .file())
  var passphraseFile: String?

  @Option(
    name: .customLong("\(Side.prefix)-passphrase-fd"),
    help: ArgumentHelp(
      "A file descriptor to read the \(Side.name)'s passphrase from.", valueName: "number"))
  var passphraseDescriptor: Int32?

  @Flag(
    name: .customLong("\(Side.prefix)-passphrase"),
    help: "Ask for the \(Side.name)'s passphrase on the terminal.")
  var passphrase = false

  @Option(
    name: .customLong("\(Side.prefix)-credential"),
    help: ArgumentHelp("The systemd credential of the \(Side.name).", valueName: "name"))
  var credential: String?

  @Option(
    name: .customLong("\(Side.prefix)-key"),
    help: ArgumentHelp(
      "The \(Side.name)'s key in the Secret Service.", valueName: "secret-service:name"),
    transform: KeyArgument.serviceKey)
  var serviceKey: SecretServiceKey?

  @Option(
    name: .customLong("\(Side.prefix)-recipient-key"),
    help: ArgumentHelp(
      "The secret key of a recipient of the \(Side.name).", valueName: "file"),
    completion: .file())
  var recipientKey: String?

  @Option(
    name: .customLong("\(Side.prefix)-expect"),
    help: ArgumentHelp(
      "With --\(Side.prefix)-recipient-key: the \(Side.name)'s fingerprint, if it is not known.",
      valueName: "fingerprint"), transform: KeyArgument.fingerprint)
  var expected: StoreFingerprint?
}
