/// A store whose keys can be wiped from memory, and come back with a passphrase.
public protocol LockableSecretStore: SecretStore {
  /// Whether the keys are gone from memory.
  var isLocked: Bool { get }

  /// Wipes the keys from memory; may wait for what is under way.
  ///
  /// Until the store is unlocked, everything that needs them throws `locked`.
  func lock()

  /// Opens the store again; blocks, for as long as it takes to derive a key, about a second.
  ///
  /// Nothing happens when it is unlocked, whatever the passphrase.
  ///
  /// - Parameter passphrase: What the person typed, in UTF-8.
  /// - Throws: `wrongKey` when the passphrase is not one of the store's, and as opening does.
  func unlock(withPassphrase passphrase: SecretBytes) throws(StoreError)
}
