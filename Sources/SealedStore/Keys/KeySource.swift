public import SecretStores

/// Something that opens a key slot: a key file, a passphrase, a service that keeps keys.
///
/// Opening or unlocking a store needs one, and so does a revocation, for each key that it keeps. A
/// new store or slot needs a ``SlotMaker`` instead. Most keys are both.
///
/// Conform a type of your own to keep a store's key wherever you like: give a
/// ``KeySlot/Parameters/namedKey(reference:)`` slot its 32 bytes, and let the type make such slots
/// as well.
///
/// A store asks its source when it is opened or unlocked, and in a revocation that keeps the
/// source's slot; never in reads and changes of items. A source may block and may ask a person: the
/// store never holds the writer's lock meanwhile, so other processes continue.
///
/// A source whose guesses are counted, such as a token with a PIN, throws `wrongKey` after a wrong
/// guess: no other slot of the same kind is tried, so that opening a store once costs one guess. It
/// throws `keyBlocked` when the token accepts no more guesses, and `cancelled` when no slot at all
/// may be tried any more. After any other error the remaining slots are tried. If none opens, the
/// store throws the error that says most about what to do. An error whose `store` is "key slot"
/// gets the name of the store, and the number and the label of the slot.
public protocol KeySource: Sendable {
  /// Returns the key that a slot was wrapped with, or `nil` when the slot is not for this source.
  ///
  /// The store finds out whether the key fits; it tries one slot after the other.
  ///
  /// - Throws: `keyMissing` when the slot is for this source and the key is missing, or another
  ///   error that kept the source from answering: the store then tries other slots. `wrongKey` when
  ///   no other slot of this kind may be tried, `cancelled` when none may be. A revocation ends
  ///   with any of them, and changes nothing.
  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey?

  /// Checks that this source is willing to make the keys for all of these slots in one opening.
  ///
  /// The store calls this before it asks for each key, with that slot and those asked for before
  /// it, because the slots of a forged header cost as much as they may; and before it adds a slot
  /// that this source made as a ``SlotMaker``, with all slots, because a store with too many of
  /// them would not open. Sources whose keys cost nothing need no check of their own; a source made
  /// of others forwards the call to them. This must not block: it may be called while other
  /// processes wait.
  ///
  /// - Throws: `invalidKey` when the slots cost more than is allowed.
  func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError)

  /// Checks that a store which one of this source's keys opened is the one that is meant.
  ///
  /// A secret key proves that the maker of the slot had it, too. Where anyone can make a slot that
  /// the source opens, as for a public key, only this distinguishes the store from a forged one.
  /// The store calls it once for each opening, before it uses anything else of what was read, and
  /// before it writes anything. A source made of others forwards the call to the one whose key it
  /// was; this may ask a person.
  ///
  /// - Parameters:
  ///   - fingerprint: The fingerprint of the store that was opened.
  ///   - store: The store as a person would name it.
  ///   - slot: The slot that opened it.
  /// - Throws: `wrongStore` when it is not, or when it is not known which one is meant.
  func checkStore(
    _ fingerprint: StoreFingerprint, named store: String, openedBy slot: KeySlot.Parameters
  ) throws(StoreError)
}

extension KeySource {
  /// Allows any slots.
  public func checkCost(of slots: [KeySlot.Parameters]) {}

  /// Accepts every store, except for one that was opened by the slot of a recipient.
  public func checkStore(
    _ fingerprint: StoreFingerprint, named store: String, openedBy slot: KeySlot.Parameters
  ) throws(StoreError) {
    guard RecipientSlot(slot) != nil else { return }
    try fingerprint.check(against: nil, of: store)
  }
}

/// A key of 32 bytes that wraps a store's key; kept in guarded memory and wiped with it.
public struct WrappingKey: Sendable {
  let bytes: KeyBytes

  /// Takes 32 bytes.
  ///
  /// - Throws: `invalidKey` when there are not 32.
  public init(_ secret: SecretBytes) throws(StoreError) {
    guard secret.byteCount == Sodium.keyByteCount else {
      throw StoreError(
        .invalidKey, store: "key",
        reason: "the key has \(secret.byteCount) bytes instead of \(Sodium.keyByteCount)")
    }
    bytes = try KeyBytes()
    bytes.copy(from: secret)
  }

  init(_ bytes: KeyBytes) {
    self.bytes = bytes
  }
}
