package import ArgumentParser
package import SealedStore

/// A recipient of a new store, beside the store's first key.
package struct NewRecipientOption: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Also seal the store to a recipient, by the public key that recipient create prints.",
      valueName: "st-recipient-…"), transform: KeyArgument.publicKey)
  package var newRecipient: Recipient?

  package init() {}
}
