import SealedStore
import SecurityKeys
import SessionAuthentication
import SessionToolsBase
import Synchronization

/// Opens a gate, locks it as the desktop does, and opens it again.
func useGate(_ answers: [Substring]) async throws {
  let store = try SealedFileStore.open(at: path, key: keyFile)
  let prompt = ScriptedPrompt(answers.map(String.init))
  let gate = makeGate(before: store, prompt)
  for _ in 1...2 {
    say("store locked \(store.isLocked)")
    try await gate.authenticate()
    say("store locked \(store.isLocked)")
    gate.handle(.sessionLocked)
  }
}

/// Opens a gate until a line of input cancels it, perhaps while another gate waits for the key.
func cancelGate(
  asking prompt: some AuthenticationPrompt, behind pin: String? = nil,
  after moment: () async -> Void = { _ = readLine() }
) async throws {
  let store = try SealedFileStore.open(at: path, key: keyFile)
  var first: Task<Void, any Error>?
  if let pin { first = try await waitingGate(pin) }
  defer { first?.cancel() }
  let authenticator = SecurityKeyAuthenticator(of: store, prompt: prompt)
  let evaluation = Task {
    try await authenticator.evaluate(AuthenticationRequest(reason: "try it"))
  }
  await moment()
  let start = ContinuousClock.now
  evaluation.cancel()
  let result = await evaluation.result
  say("within a second \(ContinuousClock.now - start < .seconds(1)), locked \(store.isLocked)")
  _ = try result.get()
}

/// Begins to open a gate, and returns when its key waits for a touch.
private func waitingGate(_ pin: String) async throws -> Task<Void, any Error> {
  let store = try SealedFileStore.open(at: path, key: keyFile)
  let touches = AsyncStream.makeStream(of: Void.self)
  let prompt = ScriptedPrompt([pin]) { touches.continuation.yield() }
  let evaluation = Task {
    let authenticator = SecurityKeyAuthenticator(of: store, prompt: prompt)
    _ = try await authenticator.evaluate(AuthenticationRequest(reason: "try it"))
  }
  for await _ in touches.stream { break }
  return evaluation
}

private func makeGate(
  before store: SealedFileStore, _ prompt: ScriptedPrompt
) -> AuthenticationGate {
  let authenticator = SecurityKeyAuthenticator(of: store, prompt: prompt)
  let gate = AuthenticationGate(authenticator) { AuthenticationRequest(reason: "try it") }
  gate.attach(.keys(of: store))
  return gate
}

/// A person who gives the answers of a script, one after the other.
final class ScriptedPrompt: AuthenticationPrompt {
  private let answers: Mutex<[String]>

  private let onHint: @Sendable () -> Void

  init(_ answers: [String], onHint: @escaping @Sendable () -> Void = {}) {
    self.answers = Mutex(answers)
    self.onHint = onHint
  }

  func answer(
    to question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    say("\(question.text) (hidden \(question.isSecret), after \(question.failureCount))")
    let answer = answers.withLock { $0.isEmpty ? "" : $0.removeFirst() }
    if answer.isEmpty { throw .cancelledByPerson }
    return SecretBytes(utf8: answer)
  }

  func show(_ message: AuthenticationMessage) async {
    if case .hint(let text) = message {
      say(text)
      onHint()
    }
  }
}

/// A prompt that is never answered and does not notice that it was cancelled.
final class DeafPrompt: AuthenticationPrompt {
  /// A value for each question.
  let questions = AsyncStream.makeStream(of: Void.self)

  func answer(
    to question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    say(question.text)
    questions.continuation.yield()
    await Task.detached { try? await Task.sleep(for: .seconds(60)) }.value
    throw .cancelledByPerson
  }

  func show(_ message: AuthenticationMessage) async {}
}
