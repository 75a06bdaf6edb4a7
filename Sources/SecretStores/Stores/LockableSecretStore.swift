/// A store whose keys can be wiped from memory and restored with a passphrase.
public protocol LockableSecretStore: SecretStore {
  /// Whether the keys have been wiped from memory.
  var isLocked: Bool { get }

  /// Wipes the keys from memory; may wait for operations under way.
  ///
  /// Until the store is unlocked, every operation that needs them throws `locked`.
  func lock()

  /// Unlocks the store; blocks while a key is derived, about a second.
  ///
  /// Does nothing if it is already unlocked, whatever the passphrase.
  ///
  /// - Parameter passphrase: The user's passphrase, in UTF-8.
  /// - Throws: `wrongKey` when the passphrase is not one of the store's, and as opening does.
  func unlock(withPassphrase passphrase: SecretBytes) throws(StoreError)
}
