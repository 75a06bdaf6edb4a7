import ArgumentParser
import SealedStore
import SecurityKeys
import SessionTools
import SessionToolsBase

/// The key of a new or changed key slot.
struct NewKeyOptions: ParsableArguments {
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

  @Flag(
    name: .long,
    help: "The security key (FIDO2) that is plugged in, with its PIN or fingerprint, and a touch.")
  var newSecurityKey = false

  @Flag(
    name: .long,
    help: "With --new-security-key: no PIN, so that who has the key and the files opens the store.")
  var touchOnly = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A recipient, by the public key that recipient create prints.",
      valueName: "st-recipient-…"), transform: KeyArgument.publicKey)
  var newRecipient: Recipient?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A name for a key file, credential, security key or recipient in slots list, such as its "
        + "owner's; not secret.",
      valueName: "text"))
  var label: String?

  private var arguments: [KeyArgument] {
    [
      newKeyFile.map(KeyArgument.keyFile), newPassphraseFile.map(KeyArgument.passphraseFile),
      newPassphraseDescriptor.map(KeyArgument.passphraseDescriptor),
      newPassphrase ? .passphrasePrompt : nil, newCredential.map(KeyArgument.credential),
      newServiceKey.map(KeyArgument.secretService),
      newSecurityKey
        ? .securityKey(touchOnly ? .touchOnly : .required, label: label ?? "") : nil,
    ].compactMap(\.self)
  }

  private var keyArgument: KeyArgument { arguments.first ?? .passphrasePrompt }

  /// The key that was given; otherwise a passphrase that is asked for, or `nil` for a recipient.
  var argument: KeyArgument? { newRecipient == nil ? keyArgument : nil }

  func validate() throws {
    guard arguments.count <= (newRecipient == nil ? 1 : 0) else {
      throw ValidationError("Give one new key or passphrase, not several.")
    }
    guard newSecurityKey || !touchOnly else {
      throw ValidationError("--touch-only is for --new-security-key.")
    }
    guard label != nil else { return }
    switch argument {
    case .keyFile, .mountedKeyFile, .credential, .securityKey, nil: break
    case .passphraseFile, .passphraseDescriptor, .passphrasePrompt, .secretService, .recipientKey:
      throw ValidationError(
        "A store keeps a label with a key file, credential, security key or recipient; give no "
          + "--label.")
    }
    guard label != "" else { throw ValidationError("The label is empty.") }
  }

  /// Takes or makes the key.
  ///
  /// - Throws: As `NewKey`.
  func key(
    cost: Passphrase.Cost, _ prompt: PassphrasePrompt, outside directory: String?
  ) throws -> NewKey {
    if let newRecipient { return NewKey(newRecipient) }
    return try NewKey(keyArgument, cost: cost, prompt, outside: directory)
  }

  /// Returns a maker whose slot gets the label, if one was given.
  ///
  /// - Throws: `invalidName` if the label is too long for a recipient.
  func labeled(_ maker: any SlotMaker) throws(StoreError) -> any SlotMaker {
    guard let label, !newSecurityKey else { return maker }
    if let recipient = maker as? Recipient { return try recipient.labeled(label) }
    return LabeledKey(key: maker, label: label)
  }
}

/// A recipient of a new store, beside the store's first key.
struct NewRecipientOption: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Also seal the store to a recipient, by the public key that recipient create prints.",
      valueName: "st-recipient-…"), transform: KeyArgument.publicKey)
  var newRecipient: Recipient?
}
