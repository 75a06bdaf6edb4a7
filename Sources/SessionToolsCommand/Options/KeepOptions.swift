import ArgumentParser
import SealedStore
import SecurityKeys
import SessionTools

/// The keys that still open a store after all others are revoked.
struct KeepOptions: ParsableArguments {
  @Option(
    name: .long, help: ArgumentHelp("Keep the slots of a key file.", valueName: "file"),
    completion: .file())
  var keepKeyFile: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp("Keep the slots of the passphrase in a file.", valueName: "file"),
    completion: .file())
  var keepPassphraseFile: [String] = []

  @Option(
    name: .customLong("keep-passphrase-fd"),
    help: ArgumentHelp(
      "Keep the slots of the passphrase read from a file descriptor.", valueName: "number"))
  var keepPassphraseDescriptor: [Int32] = []

  @Flag(name: .long, help: "Keep the slots of a passphrase asked for on the terminal.")
  var keepPassphrase = false

  @Option(
    name: .long, help: ArgumentHelp("Keep the slots of a systemd credential.", valueName: "name"))
  var keepCredential: [String] = []

  @Option(
    name: .customLong("keep-key"),
    help: ArgumentHelp(
      "Keep the slots of a key in the Secret Service.", valueName: "secret-service:name"),
    transform: KeyArgument.serviceKey)
  var keepServiceKey: [SecretServiceKey] = []

  @Flag(name: .long, help: "Keep the slots of the security key that is plugged in.")
  var keepSecurityKey = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Keep the slots of a recipient, which are made again by its public key.",
      valueName: "st-recipient-…"), transform: KeyArgument.publicKey)
  var keepRecipient: [Recipient] = []

  var isEmpty: Bool { arguments.isEmpty && keepRecipient.isEmpty }

  /// All keys that were given, apart from the recipients.
  var arguments: [KeyArgument] {
    keepKeyFile.map(KeyArgument.keyFile) + keepPassphraseFile.map(KeyArgument.passphraseFile)
      + keepPassphraseDescriptor.map(KeyArgument.passphraseDescriptor)
      + (keepPassphrase ? [.passphrasePrompt] : []) + keepCredential.map(KeyArgument.credential)
      + keepServiceKey.map(KeyArgument.secretService)
      + (keepSecurityKey ? [.securityKey(.required, label: "")] : [])
  }
}
