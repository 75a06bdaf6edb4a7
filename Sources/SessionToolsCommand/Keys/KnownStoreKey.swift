import SealedStore
import SessionToolsBase

/// A recipient's secret key that opens the store whose fingerprint is given or known.
///
/// At a terminal, it opens another one once a person has accepted it. What was given or accepted is
/// known afterwards.
struct KnownStoreKey: KeySource, SlotMaker {
  private let key: RecipientKey
  private let expected: StoreFingerprint?
  /// The store that the fingerprint is given for; a migration's journal is another one.
  private let store: String
  private let interaction: InteractionOptions

  init(_ key: RecipientKey, expecting expected: StoreFingerprint?, _ prompt: PassphrasePrompt) {
    self.key = key
    self.expected = expected
    store = prompt.path
    interaction = prompt.interaction
  }

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    try key.wrappingKey(for: slot)
  }

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    try key.makeSlot()
  }

  func checkStore(
    _ fingerprint: StoreFingerprint, named store: String, openedBy slot: KeySlot.Parameters
  ) throws(StoreError) {
    if store == self.store, let expected {
      guard fingerprint == expected else {
        throw Self.isOther(fingerprint, than: "you expect \(expected)", store)
      }
      // Where nothing can be kept, the option is needed again.
      if (try? KnownStores().fingerprint(of: store)) != fingerprint {
        try? KnownStores().keep(fingerprint, of: store)
      }
      return
    }
    let known = try KnownStores().fingerprint(of: store)
    guard fingerprint != known else { return }
    if let known { throw Self.isOther(fingerprint, than: "\(known) is known here", store) }
    guard interaction.canAsk else { throw Self.isUnknown(fingerprint, store) }
    try ask(about: fingerprint, store)
    try KnownStores().keep(fingerprint, of: store)
  }

  private func ask(about fingerprint: StoreFingerprint, _ store: String) throws(StoreError) {
    StandardError.say(
      "\(store): this store is not known here. Anyone with the public key can make one that your "
        + "key opens.")
    StandardError.say("Its fingerprint is \(fingerprint).")
    let isAccepted: Bool
    do {
      isAccepted = try Question.confirm(
        "Is it the one that init, slots list or doctor showed where the store was made?",
        about: store)
    } catch {
      throw error as? StoreError ?? Self.isUnknown(fingerprint, store)
    }
    guard isAccepted else {
      throw StoreError(.promptDismissed, store: store, reason: "you did not accept its fingerprint")
    }
  }

  private static func isUnknown(_ fingerprint: StoreFingerprint, _ store: String) -> StoreError {
    StoreError(
      .wrongStore, store: store,
      reason: "it is not known here, and anyone with the public key can make a store that your key "
        + "opens; its fingerprint is \(fingerprint)",
      remedy: "If init, slots list or doctor shows the same one where the store was made, "
        + "give --expect \(fingerprint)")
  }

  private static func isOther(
    _ fingerprint: StoreFingerprint, than expected: String, _ store: String
  ) -> StoreError {
    StoreError(
      .wrongStore, store: store,
      reason: "its fingerprint is \(fingerprint), but \(expected): its keys were revoked since, or "
        + "someone put a store of their own in its place",
      remedy: "Ask someone who has another key of the store what slots list shows; if it is this "
        + "one, give --expect \(fingerprint)")
  }
}
