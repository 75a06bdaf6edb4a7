public import SessionToolsBase

/// An authenticator that asks for the passphrase of a store, and opens the store with it.
///
/// This is protection, not only a presence check: while the store is locked, its keys are not in
/// the program's memory, and cannot be derived without the passphrase. Attach the store to the
/// gate, so that they lock together:
///
/// ```swift
/// let gate = AuthenticationGate(PassphraseAuthenticator(of: store, prompt: dialog)) { … }
/// gate.attach(.keys(of: store))
/// ```
public struct PassphraseAuthenticator: UserAuthenticator {
  private let store: any LockableSecretStore
  private let prompt: any AuthenticationPrompt
  private let maximumAttemptCount: Int

  /// Makes an authenticator for a store.
  ///
  /// - Parameters:
  ///   - store: The store to open.
  ///   - prompt: The prompt that shows the question.
  ///   - maximumAttemptCount: How many passphrases may be wrong within one evaluation, at least 1.
  public init(
    of store: some LockableSecretStore, prompt: some AuthenticationPrompt,
    maximumAttemptCount: Int = 3
  ) {
    self.store = store
    self.prompt = prompt
    self.maximumAttemptCount = max(1, maximumAttemptCount)
  }

  /// The method `passphrase`.
  public var method: AuthenticationMethod { .passphrase }

  /// Does nothing: whether the store has a passphrase becomes known when it is opened.
  public func checkAvailability() async throws(AuthenticationError) {}

  /// Asks for the passphrase and opens the store.
  ///
  /// An open store is locked first, so that a wrong passphrase is noticed.
  ///
  /// - Throws: `failed` when all passphrases were wrong, `userCancel`, `userFallback`, `timedOut`,
  ///   `appCancel`; `unlockFailed` when the store cannot be opened for another reason.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    store.lock()
    for failureCount in 0..<maximumAttemptCount {
      let question = AuthenticationQuestion(
        text: "Passphrase:", isSecret: true, failureCount: failureCount, request: request)
      let passphrase = try await prompt.text(for: question)
      do {
        try await open(passphrase)
        // The caller no longer wants the store open, and may have locked it already.
        if Task.isCancelled {
          store.lock()
          throw AuthenticationError.cancelledByApp
        }
        return method
      } catch StoreError.wrongKey {
        continue
      } catch StoreError.invalidKey {
        continue
      } catch let error as AuthenticationError {
        throw error
      } catch {
        throw AuthenticationError(
          .unlockFailed,
          "the store could not be opened" + ((error as? StoreError).map { ": \($0.reason)" } ?? ""),
          underlying: error)
      }
    }
    throw AuthenticationError(.failed, "the passphrase was wrong")
  }

  /// Unlocks the store on another thread, because deriving the key takes about a second.
  private func open(_ passphrase: SecretBytes) async throws {
    let store = store
    try await threads.blocking { try store.unlock(withPassphrase: passphrase) }
  }
}

private let threads = BlockingExecutor(maximumThreadCount: 1)
