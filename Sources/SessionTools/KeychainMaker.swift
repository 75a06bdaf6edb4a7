import SealedStore
import SecretServiceStore
import SessionToolsBase

/// The creation of a keychain's store, with the key that its configuration asks for.
struct KeychainMaker {
  let path: String
  let config: KeychainContainerConfig

  /// Makes the store.
  ///
  /// - Throws: `alreadyExists` when another process was faster; `locked`, `unavailable`,
  ///   `promptDismissed`, `timedOut`, `noSpace`, `outcomeUnknown`, `accessDenied`,
  ///   `unsafePermissions` or `io`.
  func make() throws(StoreError) -> SealedFileStore {
    switch config.protection.choice {
    case .automatic:
      // Not `??`, which loses the type of the error that its right side throws.
      if let store = try makeWithServiceKey() { return store }
      return try makeWithKeyFile()
    case .secretService: return try make(with: newServiceKey())
    case .keyFile: return try makeWithKeyFile()
    case .passphrase(let provider):
      return try SealedFileStore.create(
        at: path, key: PassphraseProvider(provider).passphrase(for: path))
    case .secretServiceItems: preconditionFailure("items in the service need no store")
    }
  }

  private func makeWithKeyFile() throws(StoreError) -> SealedFileStore {
    try SealedFileStore.createWithStandardKeyFile(at: path).store
  }

  /// Returns `nil` if there is certainly no service that could keep the key.
  private func makeWithServiceKey() throws(StoreError) -> SealedFileStore? {
    let service = SecretServiceStore(options: config.secretServiceOptions)
    let availability = try service.waiting { service async throws(StoreError) in
      try await service.availability()
    }
    switch availability {
    case .noBus, .noProvider, .noCollection: return nil
    case .locked, .unlocked: return try make(with: newServiceKey())
    }
  }

  /// Returns a key for this keychain alone, so that it can be removed if making the store fails.
  private func newServiceKey() -> SecretServiceKey {
    let unique = String(UInt128.random(in: .min ... .max), radix: 16)
    return SecretServiceKey(
      "\(config.groupName) \(unique)", makeIfAbsent: true, options: config.secretServiceOptions)
  }

  private func make(with key: SecretServiceKey) throws(StoreError) -> SealedFileStore {
    do throws(StoreError) {
      return try SealedFileStore.create(at: path, key: key)
    } catch {
      if isCertainlyOpen(without: key) { try? key.remove() }
      throw error
    }
  }

  /// Returns whether no store uses the key: an attempt that failed may have left a store.
  private func isCertainlyOpen(without key: SecretServiceKey) -> Bool {
    guard (try? SealedFileStore.exists(at: path)) != false else { return true }
    guard let slots = try? SealedFileStore.keySlots(at: path) else { return false }
    return !slots.contains { $0.parameters == .namedKey(reference: key.reference) }
  }
}
