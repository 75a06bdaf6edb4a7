public import SealedStore
public import SessionAuthentication
import SecretStores
import Synchronization

/// An authenticator that opens a store with a security key.
///
/// This is protection, not only a presence check: while the store is locked, its keys are not in
/// the program's memory, and cannot be computed without the security key. Attach the store to the
/// gate, so that they lock together:
///
/// ```swift
/// let gate = AuthenticationGate(SecurityKeyAuthenticator(of: store, prompt: dialog)) { … }
/// gate.attach(.keys(of: store))
/// ```
///
/// The prompt is asked for the PIN unless the key has a reader of its own or the slot needs only a
/// touch, and shows when to touch the key.
public struct SecurityKeyAuthenticator: UserAuthenticator {
  private let store: SealedFileStore
  private let prompt: any AuthenticationPrompt
  /// How many PINs may be wrong within one evaluation.
  private static let maximumAttemptCount = 3
  /// With fewer tries left, a person is not asked again after a wrong PIN.
  private static let fewestTriesLeft = 3

  /// Makes an authenticator for a store with a slot of a security key.
  public init(of store: SealedFileStore, prompt: some AuthenticationPrompt) {
    self.store = store
    self.prompt = prompt
  }

  /// The method `securityKey`.
  public var method: AuthenticationMethod { .securityKey }

  /// Checks that a security key for the store is plugged in, which takes some milliseconds.
  ///
  /// - Throws: `biometryNotAvailable` when none is plugged in, `notPermitted` when this process may
  ///   not use it, `misconfigured` when the store has no slot for one, or `serviceLost`.
  public func checkAvailability() async throws(AuthenticationError) {
    let store = store
    let result = await inTurn { () throws(StoreError) -> AuthenticationError? in
      let slots = try store.slotsOnDisk().compactMap(\.parameters).filter(\.isOfSecurityKey)
      for slot in slots where try SecurityKey.isConnected(for: slot) { return nil }
      return slots.isEmpty
        ? AuthenticationError(.misconfigured, "no security key opens the store")
        : AuthenticationError(.biometryNotAvailable, "the security key is not plugged in")
    }
    switch result {
    case .success(nil): return
    case .success(let refusal?): throw refusal
    case .failure(let error): throw AuthenticationError(error)
    }
  }

  /// Locks the store, and opens it with the security key that is plugged in.
  ///
  /// A person whose PIN was wrong is asked again, at most twice, and not when fewer than three
  /// tries are left. When the task is cancelled, it returns as soon as the key has stopped waiting.
  ///
  /// - Throws: `failed` when all PINs were wrong, `lockout` when the key accepts none,
  ///   `biometryNotAvailable` when the key is not plugged in, `passcodeNotSet` when it has no PIN,
  ///   `userCancel`, `userFallback`, `timedOut`, `appCancel`, `notPermitted` when this process may
  ///   not use the key, `serviceLost` when the key was unplugged or does not answer; `unlockFailed`
  ///   when the store cannot be opened for another reason.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    let store = store
    store.lock()
    var failure = AuthenticationError(.failed, "the security key was not asked")
    for failureCount in 0..<Self.maximumAttemptCount {
      let person = Person(
        prompt: prompt, request: request, failureCount: failureCount,
        fewestTriesLeft: failureCount == 0 ? 1 : Self.fewestTriesLeft)
      let key = SecurityKey(timeout: request.timeout, pin: person.pin, onTouch: person.touch)
      let result = await withTaskCancellationHandler {
        await inTurn { () throws(StoreError) in try store.unlock(with: key) }
      } onCancel: {
        key.cancel()
        person.leave()
      }
      // The caller no longer wants the store open, and may have locked it already.
      if Task.isCancelled {
        store.lock()
        throw .cancelledByApp
      }
      do throws(StoreError) {
        try result.get()
        return method
      } catch {
        if let refusal = person.refusal { throw refusal }
        guard error.code == StoreError.wrongKey else { throw AuthenticationError(error) }
        failure = AuthenticationError(
          .failed, error.reason, remedy: error.remedy, underlying: error)
      }
    }
    throw failure
  }
}

extension AuthenticationMethod {
  /// A security key, with its PIN or its own fingerprint reader.
  public static let securityKey = AuthenticationMethod("security key")
}

private let threads = BlockingExecutor(maximumThreadCount: 1)
private let turns = NameLocks<String>(store: "security key")

/// Calls security keys for one caller after the other: a key that waits for a touch does not
/// answer others; a task that is cancelled while it waits for its turn returns at once.
private func inTurn<Value: Sendable>(
  _ work: @escaping @Sendable () throws(StoreError) -> sending Value
) async -> Result<Value, StoreError> {
  let name = "keys"
  do throws(StoreError) {
    try await turns.lock(name, timeout: .seconds(Int64.max))
  } catch {
    return .failure(error)
  }
  defer { turns.unlock(name) }
  return await threads.result(of: work)
}

/// The person in front of a prompt, for a security key that blocks its thread.
private final class Person: Sendable {
  private let prompt: any AuthenticationPrompt
  private let request: AuthenticationRequest
  private let failureCount: Int
  private let fewestTriesLeft: Int
  private struct Question {
    let task: Task<Void, Never>
    let answer: BlockingAnswer<SecretBytes, AuthenticationError>

    /// Ends it, also for a prompt that does not notice that its task was cancelled.
    func cancel() {
      task.cancel()
      answer.give(.failure(.cancelledByApp))
    }
  }
  private struct State {
    var refusal: AuthenticationError?
    var hasLeft = false
    var question: Question?
  }
  private let state = Mutex(State())

  init(
    prompt: any AuthenticationPrompt, request: AuthenticationRequest, failureCount: Int,
    fewestTriesLeft: Int
  ) {
    self.prompt = prompt
    self.request = request
    self.failureCount = failureCount
    self.fewestTriesLeft = fewestTriesLeft
  }

  /// Why the person gave no PIN, if they did not.
  var refusal: AuthenticationError? { state.withLock { $0.refusal } }

  /// Ends a question that is being asked, and all later ones.
  func leave() {
    let question = state.withLock { state in
      state.hasLeft = true
      return state.question
    }
    question?.cancel()
  }

  @Sendable func pin(_ question: SecurityKeyPINQuestion) -> SecretBytes? {
    guard question.triesLeft >= fewestTriesLeft else {
      refuse(
        AuthenticationError(
          .failed, "the PIN of the security key was wrong",
          remedy: "Authenticate again to use what is left: "
            + SecurityKeyPINQuestion.tries(question.triesLeft)))
      return nil
    }
    let asked = AuthenticationQuestion(
      text: "\(question.text):", isSecret: true, failureCount: failureCount, request: request)
    let answer = BlockingAnswer<SecretBytes, AuthenticationError>()
    let task = Task { [prompt] in
      do throws(AuthenticationError) {
        answer.give(.success(try await prompt.text(for: asked)))
      } catch {
        answer.give(.failure(error))
      }
    }
    let asking = Question(task: task, answer: answer)
    let hasLeft = state.withLock { state in
      state.question = asking
      return state.hasLeft
    }
    if hasLeft { asking.cancel() }
    // Blocks this queue's own thread.
    switch answer.wait() {
    case .success(let pin): return pin
    case .failure(let error):
      refuse(error)
      return nil
    }
  }

  @Sendable func touch() {
    Task { [prompt] in await prompt.show(.hint("Touch your security key")) }
  }

  private func refuse(_ error: AuthenticationError) {
    state.withLock { $0.refusal = error }
  }
}

extension KeySlot.Parameters {
  fileprivate var isOfSecurityKey: Bool { SecurityKeySlot(self) != nil }
}

extension AuthenticationError {
  private static let codes: [StoreError.Code: Code] = [
    StoreError.keyBlocked: .lockout, StoreError.keyMissing: .biometryNotAvailable,
    StoreError.promptDismissed: .userCancel, StoreError.timedOut: .timedOut,
    StoreError.cancelled: .appCancel, StoreError.unavailable: .serviceLost,
    StoreError.accessDenied: .notPermitted,
  ]

  /// Converts an error of a store that was opened with a security key.
  fileprivate init(_ error: StoreError) {
    let isWithoutPIN = error.underlying as? FIDOError == .pinNotSet
    let code: Code = isWithoutPIN ? .passcodeNotSet : Self.codes[error.code] ?? .unlockFailed
    self.init(code, error.reason, remedy: error.remedy, underlying: error)
  }
}
