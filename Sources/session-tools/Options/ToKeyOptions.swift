import ArgumentParser
import SessionTools

/// What opens the store that items are migrated to.
struct ToKeyOptions: ParsableArguments {
  @Option(
    name: .long, help: ArgumentHelp("The target's key file.", valueName: "file"),
    completion: .file())
  var toKeyFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp("A file with the target's passphrase.", valueName: "file"),
    completion: .file())
  var toPassphraseFile: String?

  @Option(
    name: .customLong("to-passphrase-fd"),
    help: ArgumentHelp(
      "A file descriptor to read the target's passphrase from.", valueName: "number"))
  var toPassphraseDescriptor: Int32?

  @Flag(name: .long, help: "Ask for the target's passphrase on the terminal.")
  var toPassphrase = false

  @Option(
    name: .long, help: ArgumentHelp("The systemd credential of the target.", valueName: "name"))
  var toCredential: String?

  @Option(
    name: .customLong("to-key"),
    help: ArgumentHelp(
      "The target's key in the Secret Service.", valueName: "secret-service:name"),
    transform: KeyArgument.serviceKey)
  var toServiceKey: SecretServiceKey?

  /// The one that was given, if any.
  var argument: KeyArgument? { arguments.first }

  private var arguments: [KeyArgument] {
    [
      toKeyFile.map(KeyArgument.keyFile), toPassphraseFile.map(KeyArgument.passphraseFile),
      toPassphraseDescriptor.map(KeyArgument.passphraseDescriptor),
      toPassphrase ? .passphrasePrompt : nil, toCredential.map(KeyArgument.credential),
      toServiceKey.map(KeyArgument.secretService),
    ].compactMap(\.self)
  }

  func validate() throws {
    guard arguments.count <= 1 else {
      throw ValidationError("Give the target one key or passphrase, not several.")
    }
  }
}
