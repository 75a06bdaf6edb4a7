import ArgumentParser
import SealedStore
import SessionTools

/// The key of a store, or of its first key slot.
struct KeyOptions: KeyChoice {
  static let owner = ""

  @Option(
    name: .long, help: ArgumentHelp("A file of 32 bytes, mode 0600.", valueName: "file"),
    completion: .file())
  var keyFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A file with a passphrase, mode 0600; one newline at its end is ignored.",
      valueName: "file"), completion: .file())
  var passphraseFile: String?

  @Option(
    name: .customLong("passphrase-fd"),
    help: ArgumentHelp(
      "A file descriptor to read a passphrase from, to its end.", valueName: "number"))
  var passphraseDescriptor: Int32?

  @Flag(name: .long, help: "Ask for a passphrase on the terminal.")
  var passphrase = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A systemd credential of 32 bytes ($CREDENTIALS_DIRECTORY).", valueName: "name"))
  var credential: String?

  @Option(
    name: .customLong("key"),
    help: ArgumentHelp(
      "A key in the Secret Service, the desktop's keyring.", valueName: "secret-service:name"),
    transform: KeyArgument.serviceKey)
  var serviceKey: SecretServiceKey?

  @Flag(
    name: .long, help: "The security key (FIDO2) that is plugged in.")
  var securityKey = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A recipient's secret key, as recipient create makes it.", valueName: "file"),
    completion: .file())
  var recipientKey: String?

  @Option(
    name: .customLong("expect"),
    help: ArgumentHelp(
      "With --recipient-key: the fingerprint of the store, if it is not known here.",
      valueName: "fingerprint"), transform: KeyArgument.fingerprint)
  var expected: StoreFingerprint?
}
