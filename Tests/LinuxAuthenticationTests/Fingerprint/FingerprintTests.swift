import SessionToolsBusTestSupport
import SessionToolsDBus
import LinuxAuthentication
import SessionAuthentication
import SessionToolsTestSupport
import Testing

/// The real fprintd, with a virtual reader.
@Suite struct FingerprintTests {
  private static let start = AuthenticationMessage.hint("Swipe your finger across the reader")

  private func authenticator(
    _ service: FingerprintService, _ prompt: ScriptedPrompt = ScriptedPrompt(), tries: Int = 3
  ) -> FingerprintAuthenticator {
    FingerprintAuthenticator(
      maximumAttemptCount: tries, busAddress: service.bus.address, prompt: prompt)
  }

  /// Authenticates, and puts fingers on the reader, each after the message about the one before.
  private func outcome(
    _ service: FingerprintService, _ prompt: ScriptedPrompt, tries: Int = 3, _ commands: String...
  ) async throws -> Evaluation {
    let before = prompt.messages.count
    async let outcome = Evaluation.of(authenticator(service, prompt, tries: tries))
    for (number, command) in commands.enumerated() {
      try await wait(until: "message \(number + 1)") { prompt.messages.count > before + number }
      try await service.send(command)
    }
    return await outcome
  }

  @Test func `the right finger authenticates by fingerprint`() async throws {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let prompt = ScriptedPrompt()
    #expect(await authenticator(service).unavailability == nil)
    for _ in 1...2 {
      // Twice, because the reader must be released.
      let outcome = try await outcome(service, prompt, "SCAN thumb")
      #expect(outcome == .authenticated(.fingerprint))
    }
    #expect(prompt.messages == [Self.start, Self.start])
    #expect(prompt.questions.isEmpty)
  }

  @Test func `authentication fails after as many wrong fingers as are allowed`() async throws {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let problem = AuthenticationMessage.problem("That finger was not recognized. Try again")
    let prompt = ScriptedPrompt()
    let three = try await outcome(service, prompt, "SCAN other", "SCAN other", "SCAN other")
    #expect(three.code == .failed)
    #expect(prompt.messages == [Self.start, problem, problem])
    let one = try await outcome(service, ScriptedPrompt(), tries: 1, "SCAN other")
    #expect(one.code == .failed)
    let last = try await outcome(service, ScriptedPrompt(), "SCAN other", "SCAN x", "SCAN thumb")
    #expect(last == .authenticated(.fingerprint))
  }

  @Test func `a finger that could not be read shows why, and does not cost a try`() async throws {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let prompt = ScriptedPrompt()
    let outcome = try await outcome(
      service, prompt, tries: 1, "RETRY 0", "RETRY 1", "RETRY 2", "RETRY 3", "SCAN thumb")
    #expect(outcome == .authenticated(.fingerprint))
    #expect(
      prompt.messages == [
        Self.start, .hint("The finger could not be read. Try again"),
        .hint("The swipe was too short. Try again, with the whole finger"),
        .hint("The finger was not in the middle of the reader. Try again"),
        .hint("Lift your finger, and try again"),
      ])
  }

  @Test func `the instructions depend on the kind of reader`() async throws {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let prompt = ScriptedPrompt()
    async let first = Evaluation.of(authenticator(service, prompt))
    try await wait(until: "the reader waits") { !prompt.messages.isEmpty }
    try await service.send("SET_SCAN_TYPE press")
    try await service.send("SCAN thumb")
    #expect(await first == .authenticated(.fingerprint))
    let second = try await outcome(service, prompt, "SCAN thumb")
    #expect(second == .authenticated(.fingerprint))
    #expect(prompt.messages == [Self.start, .hint("Put your finger on the reader")])
  }

  @Test func `a reader that is unplugged during a scan is lost, and then not available`()
    async throws
  {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let outcome = try await outcome(service, ScriptedPrompt(), "UNPLUG")
    #expect(outcome.code == .serviceLost)
    try await wait(until: "the reader is gone") {
      await authenticator(service).unavailability?.code
        == .biometryNotAvailable
    }
  }

  @Test func `a reader that fails is lost`() async throws {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let outcome = try await outcome(service, ScriptedPrompt(), "ERROR 0")
    #expect(outcome.code == .serviceLost)
  }

  @Test func `a service that is killed during a scan is lost at once`() async throws {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let prompt = ScriptedPrompt()
    async let outcome = Evaluation.of(authenticator(service, prompt))
    try await wait(until: "the reader waits") { !prompt.messages.isEmpty }
    service.kill()
    #expect(await outcome.code == .serviceLost)
  }

  @Test func `a reader that another client uses is busy until that client leaves`() async throws {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let other = try await service.claim()
    #expect(
      await Evaluation.of(authenticator(service)).code == .busy)
    other.close()
    try await wait(until: "the reader is free") {
      await Evaluation.of(authenticator(service), timeout: .milliseconds(500)).code
        == .timedOut
    }
  }

  @Test func `of two scans at the same time, the second is busy and does not disturb the first`()
    async throws
  {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let prompt = ScriptedPrompt()
    async let first = Evaluation.of(authenticator(service, prompt))
    try await wait(until: "the reader waits") { !prompt.messages.isEmpty }
    #expect(
      await Evaluation.of(authenticator(service)).code == .busy)
    try await service.send("SCAN thumb")
    #expect(await first == .authenticated(.fingerprint))
  }

  @Test func `cancellation and timeout release the reader before they return`() async throws {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let prompt = ScriptedPrompt()
    let task = Task { await Evaluation.of(authenticator(service, prompt)) }
    try await wait(until: "the reader waits") { !prompt.messages.isEmpty }
    task.cancel()
    #expect(await task.value.code == .appCancel)
    // If it had not been released, this would be busy.
    let late = await Evaluation.of(authenticator(service), timeout: .seconds(1))
    #expect(late.code == .timedOut)
    #expect(
      try await outcome(service, ScriptedPrompt(), "SCAN thumb") == .authenticated(.fingerprint))
  }

  @Test func `a hanging service delays neither cancellation nor timeout`() async throws {
    let service = try await FingerprintService()
    try await service.enroll("thumb")
    let prompt = ScriptedPrompt()
    let task = Task { await Evaluation.of(authenticator(service, prompt)) }
    try await wait(until: "the reader waits") { !prompt.messages.isEmpty }
    service.pause()
    task.cancel()
    #expect(await task.value.code == .appCancel)
    let late = await Evaluation.of(authenticator(service), timeout: .milliseconds(300))
    #expect(late.code == .timedOut)
  }
}
