public import SessionToolsBase

/// Something that can open a key slot: a key file, a passphrase, a service that keeps keys.
///
/// Conform a type of your own to keep a store's key wherever you like: give a
/// ``KeySlotParameters/namedKey(reference:)`` slot its 32 bytes.
///
/// A source is asked when a store is opened or unlocked, when it is given a new slot, and by a
/// revocation that keeps its slot; never by reads and changes of items. It may block and, if that is
/// its nature, ask a person: the store never has the writer's lock meanwhile, so that other processes
/// go on.
///
/// A source whose guesses are counted, such as a token with a PIN, throws `wrongKey` when the guess was
/// wrong, and `keyBlocked` when the token takes none any more. Both end the search: no other slot is
/// tried, so that one opening is one guess.
public protocol KeySource: Sendable {
  /// The key that a slot was wrapped with; `nil` when the slot is not for this source.
  ///
  /// Whether the key fits is found out by the store, which tries one slot after the other.
  ///
  /// - Throws: `keyMissing` when the slot is for this source and the key is not there, or
  ///   what else kept the source from answering: other slots are tried then. `wrongKey` or
  ///   `keyBlocked` when no other slot may be tried.
  func wrappingKey(for slot: KeySlotParameters) throws(StoreError) -> WrappingKey?

  /// Whether this source is willing to make the keys for all of these slots in one opening.
  ///
  /// Asked before each key is, with the slots that were tried before it, because a header that
  /// somebody forged has slots that cost as much as they may; and before a slot is added, with
  /// all slots, because a store with too many of them would not open. Sources whose keys cost
  /// nothing need no check of their own; a source made of others asks them. Must not block: it may be
  /// asked while other processes wait.
  ///
  /// - Throws: `invalidKey` when they cost more than is allowed.
  func checkCost(of slots: [KeySlotParameters]) throws(StoreError)

  /// What a new slot for this source says, and the key it is wrapped with.
  ///
  /// - Throws: As ``wrappingKey(for:)``.
  func makeSlot() throws(StoreError) -> (parameters: KeySlotParameters, key: WrappingKey)
}

extension KeySource {
  /// Allows any slots.
  public func checkCost(of slots: [KeySlotParameters]) {}
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
        StoreError.invalidKey, store: "key",
        reason: "the key has \(secret.byteCount) bytes instead of \(Sodium.keyByteCount)")
    }
    bytes = try KeyBytes()
    bytes.copy(from: secret)
  }

  init(_ bytes: KeyBytes) {
    self.bytes = bytes
  }
}
