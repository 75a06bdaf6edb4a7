public import SealedStore
public import SecretStores

extension SealedDatabaseStore: SealedSecretStore {
  /// Whether the keys were wiped from memory.
  public var isLocked: Bool { keys.isLocked }

  /// Whether the system keeps the pages with the keys out of swap; `false` while locked.
  public var isKeyMemoryLocked: Bool { keys.isMemoryLocked }

  /// Wipes the keys from memory.
  ///
  /// Until the store is unlocked, everything that needs them throws `locked`. Changes that were
  /// sent before are not stopped. It waits for rows that are being sealed or opened, and not for
  /// the server.
  public func lock() { keys.lock() }

  /// Opens a locked store again, and rereads its header.
  ///
  /// Nothing happens when it is unlocked.
  ///
  /// - Throws: As ``open(_:key:options:)``.
  public func unlock(with key: some KeySource) throws(StoreError) {
    guard isLocked else { return }
    try keys.unlock(with: key)
    if !keys.isMemoryLocked { database.report(.keyMemoryNotLocked) }
    poller.resynchronize()
  }
}
