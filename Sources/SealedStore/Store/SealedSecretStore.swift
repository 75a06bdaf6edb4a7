public import SecretStores

/// A store that is sealed, and opens with any of the keys in its 1 to 16 key slots: a
/// ``SealedFileStore``, or a `SealedDatabaseStore`.
///
/// The header, which has the slots, is all that adding, changing or removing one rewrites, whatever
/// the store's size. The number of a slot means the one that had this number when this object
/// opened the store, or listed or changed its slots last, whatever other processes have changed
/// since.
///
/// Everything blocks: a change of the slots for a sync or two, or for a few round trips to a
/// database, which are repeated while other machines change the header; unlocking also for the
/// derivation of the key; a rotation or revocation until everything is sealed again, as
/// `SealedFileStore.compact` does.
public protocol SealedSecretStore: LockableSecretStore {
  /// Opens a locked store again, and rereads it.
  ///
  /// Nothing happens when it is unlocked.
  ///
  /// - Throws: As opening the store does.
  func unlock(with key: some KeySource) throws(StoreError)

  /// Returns the fingerprint of the keys that this store is open with, by which the holder of a
  /// ``RecipientKey`` knows it.
  ///
  /// A revocation changes it.
  ///
  /// - Throws: `locked`, or `unavailable` when the system gives no memory.
  func fingerprint() throws(StoreError) -> StoreFingerprint

  /// Returns the key slots of this store, as they are now.
  ///
  /// - Throws: `corrupt`, `unsupportedVersion`, `unsafePermissions`, `unavailable`, `accessDenied`,
  ///   `timedOut` or `io`.
  func keySlots() throws(StoreError) -> [KeySlot]

  /// Adds a key slot to the store.
  ///
  /// - Parameter key: The maker of the new slot.
  /// - Returns: The new slot.
  /// - Throws: `invalidKey` when there are 16 slots already or the passphrase slots would cost more
  ///   than ``Passphrase/Limits`` allow; `locked`; `wrongKey` when the store's keys were replaced;
  ///   `timedOut`, `corrupt`, `noSpace`, `unavailable`, `accessDenied`, `io` or an error of the
  ///   maker: nothing was changed then. `outcomeUnknown` when it is not known whether the change
  ///   was made.
  @discardableResult
  func addSlot(_ key: some SlotMaker) throws(StoreError) -> KeySlot

  /// Replaces the key of a slot, such as an old passphrase by a new one.
  ///
  /// The old key, with an old copy of the header, still opens the store: to shut it out, use
  /// ``revoke(keeping:recipients:progress:confirm:)``.
  ///
  /// - Throws: `invalidKey` when there is no such slot any more, or as ``addSlot(_:)``.
  func changeSlot(_ number: Int, to key: some SlotMaker) throws(StoreError)

  /// Removes a key slot of the store.
  ///
  /// The key, with an old copy of the header, still opens the store: to shut it out, use
  /// ``revoke(keeping:recipients:progress:confirm:)``.
  ///
  /// - Throws: `invalidKey` when there is no such slot any more or it is the last one, or as
  ///   ``addSlot(_:)``.
  func removeSlot(_ number: Int) throws(StoreError)

  /// Seals everything again with a new random data key.
  ///
  /// All slots still open the store.
  ///
  /// - Parameter progress: Receives the progress of sealing everything again: of the bytes of a
  ///   file, or the items of a database.
  /// - Throws: As changing an item does.
  func rotate(progress: SealedFileStore.Progress?) throws(StoreError)

  /// Shuts out every key that is not given here, with a new store key and a new data key with which
  /// everything is sealed again.
  ///
  /// A copy of the store that was made before stays readable for anyone who has it and a key that
  /// opened it.
  ///
  /// Every other process that has a store in a database open throws `wrongKey` from then on, and
  /// has to lock it and unlock it with a key that was kept. When this was interrupted after the
  /// keys were revoked, ``rotate(progress:)`` does the rest.
  ///
  /// - Parameters:
  ///   - sources: The keys that still open the store afterwards; each must open a slot.
  ///   - recipients: The recipients whose keys still open it; each must have a slot, and gets a new
  ///     one in its place.
  ///   - progress: Receives the progress of sealing everything again.
  ///   - confirm: Receives the slots that are kept and dropped before anything happens, and
  ///     returns whether to continue. It may be called again when the slots were changed meanwhile.
  ///     Other processes that write may wait for it, so do not ask a person here: ask before, about
  ///     the ``revocationPlan(keeping:recipients:)``, and return whether this plan is equal to it.
  ///     Do not call the store from it.
  /// - Returns: Whether the keys were revoked.
  /// - Throws: `wrongKey` when a source opens no slot or a recipient has none; `invalidKey` when
  ///   there is neither, or rotations of a database have not been finished; an error of a source;
  ///   or as ``rotate(progress:)``.
  @discardableResult
  func revoke(
    keeping sources: [any KeySource], recipients: [Recipient],
    progress: SealedFileStore.Progress?, confirm: (RevocationPlan) -> Bool
  ) throws(StoreError) -> Bool
}

/// The slots that a revocation keeps and drops.
public struct RevocationPlan: Hashable, Sendable {
  /// The slots whose keys or recipients were given: they still open the store.
  public let kept: [KeySlot]
  /// All other slots: they no longer open the store, not even with an old copy of the header.
  public let dropped: [KeySlot]

  init(_ slots: [KeySlot], keeping kept: Set<Int>) {
    self.kept = slots.filter { kept.contains($0.number) }
    dropped = slots.filter { !kept.contains($0.number) }
  }
}

extension SealedSecretStore {
  /// Shuts out every key that is not given here, without reporting progress.
  ///
  /// - Throws: As ``SealedSecretStore/revoke(keeping:recipients:progress:confirm:)``.
  @discardableResult
  public func revoke(
    keeping sources: [any KeySource], recipients: [Recipient] = [],
    confirm: (RevocationPlan) -> Bool
  ) throws(StoreError) -> Bool {
    try revoke(keeping: sources, recipients: recipients, progress: nil, confirm: confirm)
  }

  /// Shuts out every key that is not given here, and keeps no recipient.
  ///
  /// - Throws: As ``SealedSecretStore/revoke(keeping:recipients:progress:confirm:)``.
  @discardableResult
  public func revoke(
    keeping sources: [any KeySource], progress: SealedFileStore.Progress?,
    confirm: (RevocationPlan) -> Bool
  ) throws(StoreError) -> Bool {
    try revoke(keeping: sources, recipients: [], progress: progress, confirm: confirm)
  }

  /// Seals everything again with a new random data key, without reporting progress.
  ///
  /// - Throws: As ``SealedSecretStore/rotate(progress:)``.
  public func rotate() throws(StoreError) { try rotate(progress: nil) }

  /// Returns what a revocation would keep and drop, without making it.
  ///
  /// The sources are asked for it, and again for the revocation.
  ///
  /// - Throws: As ``SealedSecretStore/revoke(keeping:recipients:progress:confirm:)``; `io` if the
  ///   store reports no plan.
  public func revocationPlan(
    keeping sources: [any KeySource], recipients: [Recipient] = []
  ) throws(StoreError) -> RevocationPlan {
    var found: RevocationPlan?
    try revoke(keeping: sources, recipients: recipients) { plan in
      found = plan
      return false
    }
    guard let found else {
      throw StoreError(.io, store: "the store", reason: "a revocation reported no plan")
    }
    return found
  }

  /// Opens a locked store again with a passphrase.
  ///
  /// - Throws: As ``SealedSecretStore/unlock(with:)``; `invalidKey` when it cannot be a passphrase.
  public func unlock(withPassphrase passphrase: SecretBytes) throws(StoreError) {
    try unlock(with: Passphrase(utf8: passphrase))
  }
}
