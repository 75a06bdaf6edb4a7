import ArgumentParser
import SessionTools

/// What opens the store that items are migrated from.
struct FromKeyOptions: ParsableArguments {
  @Option(
    name: .long, help: ArgumentHelp("The source's key file.", valueName: "file"),
    completion: .file())
  var fromKeyFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp("A file with the source's passphrase.", valueName: "file"),
    completion: .file())
  var fromPassphraseFile: String?

  @Option(
    name: .customLong("from-passphrase-fd"),
    help: ArgumentHelp(
      "A file descriptor to read the source's passphrase from.", valueName: "number"))
  var fromPassphraseDescriptor: Int32?

  @Flag(name: .long, help: "Ask for the source's passphrase on the terminal.")
  var fromPassphrase = false

  @Option(
    name: .long, help: ArgumentHelp("The systemd credential of the source.", valueName: "name"))
  var fromCredential: String?

  @Option(
    name: .customLong("from-key"),
    help: ArgumentHelp(
      "The source's key in the Secret Service.", valueName: "secret-service:name"),
    transform: KeyArgument.serviceKey)
  var fromServiceKey: SecretServiceKey?

  /// The one that was given, if any.
  var argument: KeyArgument? { arguments.first }

  private var arguments: [KeyArgument] {
    [
      fromKeyFile.map(KeyArgument.keyFile), fromPassphraseFile.map(KeyArgument.passphraseFile),
      fromPassphraseDescriptor.map(KeyArgument.passphraseDescriptor),
      fromPassphrase ? .passphrasePrompt : nil, fromCredential.map(KeyArgument.credential),
      fromServiceKey.map(KeyArgument.secretService),
    ].compactMap(\.self)
  }

  func validate() throws {
    guard arguments.count <= 1 else {
      throw ValidationError("Give the source one key or passphrase, not several.")
    }
  }
}
