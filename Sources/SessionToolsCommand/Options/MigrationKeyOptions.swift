package import ArgumentParser
package import SealedStore
package import SessionTools

/// One of the stores of a migration.
package protocol MigrationSide {
  /// The name in help and messages.
  static var name: String { get }
  /// The prefix of the names of its options.
  static var prefix: String { get }
}

/// The store that items are migrated from.
package enum SourceSide: MigrationSide {
  package static let name = "source"
  package static let prefix = "from"
}

/// The store that items are migrated to.
package enum TargetSide: MigrationSide {
  package static let name = "target"
  package static let prefix = "to"
}

/// The key of one of the stores of a migration.
package struct MigrationKeyOptions<Side: MigrationSide>: KeyChoice {
  package static var owner: String { "the \(Side.name) " }

  @Option(
    name: .customLong("\(Side.prefix)-key-file"),
    help: ArgumentHelp("The \(Side.name)'s key file.", valueName: "file"), completion: .file())
  package var keyFile: String?

  @Option(
    name: .customLong("\(Side.prefix)-passphrase-file"),
    help: ArgumentHelp("A file with the \(Side.name)'s passphrase.", valueName: "file"),
    completion: .file())
  package var passphraseFile: String?

  @Option(
    name: .customLong("\(Side.prefix)-passphrase-fd"),
    help: ArgumentHelp(
      "A file descriptor to read the \(Side.name)'s passphrase from.", valueName: "number"))
  package var passphraseDescriptor: Int32?

  @Flag(
    name: .customLong("\(Side.prefix)-passphrase"),
    help: "Ask for the \(Side.name)'s passphrase on the terminal.")
  package var passphrase = false

  @Option(
    name: .customLong("\(Side.prefix)-credential"),
    help: ArgumentHelp("The systemd credential of the \(Side.name).", valueName: "name"))
  package var credential: String?

  @Option(
    name: .customLong("\(Side.prefix)-key"),
    help: ArgumentHelp(
      "The \(Side.name)'s key in the Secret Service.", valueName: "secret-service:name"),
    transform: KeyArgument.serviceKey)
  package var serviceKey: SecretServiceKey?

  @Option(
    name: .customLong("\(Side.prefix)-recipient-key"),
    help: ArgumentHelp(
      "The secret key of a recipient of the \(Side.name).", valueName: "file"),
    completion: .file())
  package var recipientKey: String?

  @Option(
    name: .customLong("\(Side.prefix)-expect"),
    help: ArgumentHelp(
      "With --\(Side.prefix)-recipient-key: the \(Side.name)'s fingerprint, if it is not known.",
      valueName: "st-store-…"), transform: KeyArgument.fingerprint)
  package var expected: StoreFingerprint?

  package init() {}
}
