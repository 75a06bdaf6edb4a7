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
      switch try keyring() {
      case .service: return try make(with: newServiceKey())
      case .portal: return try make(with: PortalKey(config.secretServiceOptions))
      case nil: return try makeWithKeyFile()
      }
    case .secretService:
      if Sandbox.current != nil, case .portal? = try keyring() {
        return try make(with: PortalKey(config.secretServiceOptions))
      }
      return try make(with: newServiceKey())
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

  /// What can keep the key.
  private enum Keyring {
    case service
    /// The desktop's portal, for a sandboxed app that may not use the service.
    case portal
  }

  /// Returns what can keep the key; `nil` if there is certainly nothing that could.
  private func keyring() throws(StoreError) -> Keyring? {
    switch try availability() {
    case .locked, .unlocked: return .service
    case .noCollection: return nil
    case .noBus, .noProvider:
      return try PortalKey(config.secretServiceOptions).isAvailable() ? .portal : nil
    }
  }

  private func availability() throws(StoreError) -> SecretServiceStore.Availability {
    let service = SecretServiceStore(options: config.secretServiceOptions)
    do throws(StoreError) {
      return try service.waiting { service async throws(StoreError) in
        try await service.availability()
      }
    } catch let error where error.code == .accessDenied && Sandbox.current != nil {
      // Flatpak hides the service; AppArmor, which confines snaps, refuses calls to it.
      return .noProvider
    }
  }

  /// Returns a key for this keychain alone, so that it can be removed if making the store fails.
  ///
  /// It names the collection that is the default now, because another one may be tomorrow.
  private func newServiceKey() throws(StoreError) -> SecretServiceKey {
    let unique = String(UInt128.random(in: .min ... .max), radix: 16)
    let name = try SecretServiceStore(options: config.secretServiceOptions).lastingName()
    return SecretServiceKey(
      "\(config.groupName) \(unique)", in: .named(name), makeIfAbsent: true,
      options: config.secretServiceOptions)
  }

  private func make(with key: PortalKey) throws(StoreError) -> SealedFileStore {
    try SealedFileStore.create(at: path, key: key)
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
