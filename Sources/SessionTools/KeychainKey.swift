import SealedStore
import SecretServiceStore
import SessionToolsBase
import Synchronization

/// A key source that opens each key slot of a keychain with the kind of key that the slot names.
final class KeychainKey: KeySource {
  private let path: String
  private let identifier: String
  private let options: SecretServiceStore.Options
  private let provider: PassphraseProvider?

  /// - Parameters:
  ///   - path: The keychain's store.
  ///   - config: How the Secret Service is used, and where a passphrase comes from.
  /// - Throws: As `SealedFileStore.identifier(at:)`.
  init(forStoreAt path: String, _ config: KeychainContainerConfig) throws(StoreError) {
    self.path = path
    identifier = try SealedFileStore.identifier(at: path)
    options = config.secretServiceOptions
    if case .passphrase(let provider) = config.protection.choice {
      self.provider = PassphraseProvider(provider)
    } else {
      provider = nil
    }
  }

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    switch slot {
    case .rawKey:
      return try KeyFile.standard(forStore: identifier).wrappingKey(for: slot)
    case .namedKey(let reference):
      if let key = SecretServiceKey(reference: reference, options: options) {
        return try key.wrappingKey(for: slot)
      }
      return try PortalKey(options).wrappingKey(for: slot)
    case .passphrase:
      guard let provider else {
        throw StoreError(
          .keyMissing, store: path, reason: "the keychain opens with a passphrase",
          remedy: "Give the keychain, or the container's configuration, the protection .passphrase")
      }
      return try provider.passphrase(for: path).wrappingKey(for: slot)
    }
  }

  func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    guard let provider, case .passphrase = slots.last else { return }
    try provider.passphrase(for: path).checkCost(of: slots)
  }
}

extension PortalKey {
  /// A key that is waited for as long as the Secret Service.
  init(_ options: SecretServiceStore.Options) {
    self.init(
      timeout: options.prompts == .ifNeeded
        ? options.timeout + options.promptTimeout : options.timeout)
  }
}

/// The passphrase from the caller's closure, which is not called again once it has returned one.
final class PassphraseProvider: Sendable {
  private let provider: @Sendable () throws -> SecretBytes
  private let answer = Mutex<Passphrase?>(nil)

  init(_ provider: @escaping @Sendable () throws -> SecretBytes) {
    self.provider = provider
  }

  /// Returns the passphrase.
  ///
  /// - Throws: `promptDismissed`, or a `StoreError` that the caller's closure throws.
  func passphrase(for path: String) throws(StoreError) -> Passphrase {
    try answer.withLock { answer -> Result<Passphrase, StoreError> in
      if let passphrase = answer { return .success(passphrase) }
      do {
        let passphrase = try Passphrase(utf8: try provider())
        answer = passphrase
        return .success(passphrase)
      } catch let error as StoreError {
        return .failure(error)
      } catch {
        // Only the error's type: its text may contain more than a log should.
        return .failure(
          StoreError(
            .promptDismissed, store: path,
            reason: "no passphrase was given: \(type(of: error))"))
      }
    }.get()
  }
}
