import Foundation
import SealedStore
import SessionAuthentication
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import Testing

/// Asks for the passphrase of a real sealed store.
struct PassphraseAuthenticatorTests {
  /// A prompt with prepared answers.
  final class Prompt: AuthenticationPrompt {
    private let answers: Mutex<[Result<SecretBytes, AuthenticationError>]>
    let questions = Recorder<AuthenticationQuestion>()

    init(_ answers: Result<SecretBytes, AuthenticationError>...) {
      self.answers = Mutex(answers)
    }

    func answer(
      to question: AuthenticationQuestion
    ) async throws(AuthenticationError) -> SecretBytes {
      questions.append(question)
      let answer = answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      if let answer { return try answer.get() }
      // The person is absent.
      try? await Task.sleep(for: .seconds(3600))
      throw .cancelledByPerson
    }

    func show(_ message: AuthenticationMessage) async {}
  }

  let directory: TemporaryDirectory
  let store: SealedFileStore
  let name: ItemName

  init() throws {
    directory = try TemporaryDirectory()
    store = try SealedFileStore.create(
      at: directory["store"],
      key: Passphrase("right", cost: .fixed(passes: 1, memoryByteCount: 8 << 20)))
    name = try ItemName("item", in: "test")
  }

  // A day, because other tests may keep all threads busy.
  private func gate(_ prompt: Prompt, timeout: Duration = .seconds(86_400)) -> AuthenticationGate {
    let authenticator = PassphraseAuthenticator(of: store, prompt: prompt)
    let gate = AuthenticationGate(authenticator, configuration: .patient) {
      AuthenticationRequest(reason: "test", timeout: timeout)
    }
    gate.attach(.keys(of: store))
    return gate
  }

  @Test func `the right passphrase opens the gate and the store, and a lock closes both`()
    async throws
  {
    try await store.put(SecretBytes(utf8: "value"), for: name)
    let right = SecretBytes(utf8: "right")
    let gate = gate(Prompt(.success(right), .success(right)))
    #expect(store.isLocked)
    try await gate.authenticate()
    #expect(!store.isLocked)
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
    gate.invalidate()
    #expect(store.isLocked)
    try await gate.authenticate()
    #expect(!store.isLocked)
  }

  @Test func `a wrong passphrase may be corrected twice, and then it fails`() async throws {
    let prompt = Prompt(
      .success(SecretBytes(utf8: "wrong")), .success(SecretBytes(utf8: "")),
      .success(SecretBytes(utf8: "right")), .success(SecretBytes(utf8: "no")),
      .success(SecretBytes(utf8: "no")), .success(SecretBytes(utf8: "no")))
    let gate = gate(prompt)
    try await gate.authenticate()
    #expect(prompt.questions.all.map(\.failureCount) == [0, 1, 2])
    #expect(prompt.questions.all.allSatisfy { $0.isSecret })
    gate.invalidate()
    let error = await expectFailure(AuthenticationError.failed) { try await gate.authenticate() }
    #expect(store.isLocked)
    let text = error.map { "\($0)" } ?? ""
    #expect(!text.contains("no\"") && !text.contains("right"))
  }

  @Test func `a person who cancels or wants another way is not asked again`() async throws {
    let gate = gate(Prompt(.failure(.cancelledByPerson), .failure(.personWantsAnotherWay)))
    await expectFailure(AuthenticationError.userCancel) { try await gate.authenticate() }
    await expectFailure(AuthenticationError.userFallback) { try await gate.authenticate() }
    #expect(store.isLocked)
  }

  @Test func `an unanswered question ends by its timeout or with its task`() async throws {
    await expectFailure(AuthenticationError.timedOut) {
      try await gate(Prompt(), timeout: .milliseconds(20)).authenticate()
    }
    let authenticator = PassphraseAuthenticator(of: store, prompt: Prompt())
    let task = Task { try await authenticator.evaluate(AuthenticationRequest(reason: "test")) }
    task.cancel()
    await expectFailure(AuthenticationError.appCancel) { try await task.value }
    #expect(store.isLocked)
  }

  @Test func `the error of a store that cannot be opened has the reason`() async throws {
    try FileManager.default.removeItem(atPath: directory["store"])
    let gate = gate(Prompt(.success(SecretBytes(utf8: "right"))))
    let error = await expectFailure(AuthenticationError.unlockFailed) {
      try await gate.authenticate()
    }
    #expect(error?.underlying is StoreError)
  }
}
