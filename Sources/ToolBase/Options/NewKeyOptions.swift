package import ArgumentParser
package import SealedStore
import SessionTools
package import SessionToolsBase

/// The key of a new or changed key slot.
package struct NewKeyOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp("A key file; it is created if it does not exist.", valueName: "file"),
    completion: .file())
  var newKeyFile: String?

  @Option(
    name: .long, help: ArgumentHelp("A file with the new passphrase.", valueName: "file"),
    completion: .file())
  var newPassphraseFile: String?

  @Option(
    name: .customLong("new-passphrase-fd"),
    help: ArgumentHelp(
      "A file descriptor to read the new passphrase from.", valueName: "number"))
  var newPassphraseDescriptor: Int32?

  @Flag(name: .long, help: "Ask for the new passphrase on the terminal, which is the default.")
  var newPassphrase = false

  @Option(name: .long, help: ArgumentHelp("A systemd credential of 32 bytes.", valueName: "name"))
  var newCredential: String?

  @Option(
    name: .customLong("new-key"),
    help: ArgumentHelp(
      "A key in the Secret Service; it is created if it does not exist.",
      valueName: "secret-service:name"),
    transform: KeyArgument.serviceKey)
  var newServiceKey: SecretServiceKey?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A recipient, by the public key that recipient create prints.",
      valueName: "st-recipient-…"), transform: KeyArgument.publicKey)
  var newRecipient: Recipient?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A name for a key file, a credential or a recipient in slots list, such as its owner's; "
        + "not secret.",
      valueName: "text"))
  package var label: String?

  private var arguments: [KeyArgument] {
    [
      newKeyFile.map(KeyArgument.keyFile), newPassphraseFile.map(KeyArgument.passphraseFile),
      newPassphraseDescriptor.map(KeyArgument.passphraseDescriptor),
      newPassphrase ? .passphrasePrompt : nil, newCredential.map(KeyArgument.credential),
      newServiceKey.map(KeyArgument.secretService),
      newRecipient.map(KeyArgument.recipient),
    ].compactMap(\.self)
  }

  /// The key that was given; otherwise a passphrase that is asked for.
  package var argument: KeyArgument { arguments.first ?? .passphrasePrompt }

  package func validate() throws {
    guard arguments.count <= 1 else {
      throw ValidationError("Give one new key or passphrase, not several.")
    }
    guard label != nil else { return }
    switch argument {
    case .keyFile, .credential, .recipient: break
    case .passphraseFile, .passphraseDescriptor, .passphrasePrompt, .secretService, .recipientKey:
      throw ValidationError(
        "A store keeps a label with a key file, a credential or a recipient; give no --label.")
    }
    guard label != "" else { throw ValidationError("The label is empty.") }
  }

  /// Returns a source whose slot gets the label, if one was given.
  ///
  /// - Throws: `invalidName` if the label is too long for a recipient.
  package func labeled(_ source: any KeySource) throws(StoreError) -> any KeySource {
    guard let label else { return source }
    if let recipient = source as? Recipient { return try recipient.labeled(label) }
    return LabeledKey(key: source, label: label)
  }

  package init() {}
}
