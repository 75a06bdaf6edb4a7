import SessionAuthentication
import SessionToolsTesting
import Testing

/// Faults that other gates of this kind have had, and that the tests of single rules do not show by
/// themselves.
struct EarlierDesignsTests {
  @Test func `cancelling, leaving and returning within the grace time opens nothing`() async throws
  {
    let test = TestGate(.failure(.userCancelled)) { $0.graceDuration = .seconds(15) }
    test.connect("a", isActive: true)
    try await waitUntil { test.reported("a").last == "failed: userCancel" }
    test.gate.handle(.didEnterBackground, in: "a")
    test.clock.advance(by: .seconds(2))
    test.gate.handle(.didBecomeActive, in: "a")
    #expect(test.gate.requiresAuthentication)
    test.gate.invalidate()
    #expect(test.gate.requiresAuthentication)
  }

  @Test func `the focus that a question takes and gives back neither locks nor asks again`()
    async throws
  {
    let test = TestGate(.waiting) { $0.invalidation = .resignActive }
    test.connect("a", isActive: true)
    try await test.waitUntilAsked()
    test.gate.handle(.willResignActive, in: "a")
    test.clock.advance(by: .seconds(30))
    #expect(test.gate.isAuthenticating)
    test.authenticator.answer(.success(()))
    try await waitUntil { !test.gate.requiresAuthentication }
    // A dialog may take a while to close.
    test.clock.advance(by: .seconds(4))
    test.gate.handle(.didBecomeActive, in: "a")
    test.clock.advance(by: .seconds(60))
    #expect(!test.gate.requiresAuthentication)
    #expect(test.askedCount == 1)
  }

  @Test func `a dismissed question is asked again after an absence, and not before`() async throws {
    let test = TestGate(.waiting, .success) { $0.invalidation = .resignActive }
    test.connect("a", isActive: true)
    try await test.waitUntilAsked()
    test.gate.handle(.willResignActive, in: "a")
    test.authenticator.answer(.failure(.userCancelled))
    try await waitUntil { test.reported("a").last == "failed: userCancel" }
    for _ in 0..<3 {
      // The focus comes back from the dialog, possibly more than once.
      test.gate.handle(.didBecomeActive, in: "a")
      test.gate.handle(.willResignActive, in: "a")
    }
    test.gate.handle(.didBecomeActive, in: "a")
    #expect(test.askedCount == 1)
    test.clock.advance(by: .seconds(10))
    test.gate.handle(.willResignActive, in: "a")
    test.clock.advance(by: .seconds(10))
    test.gate.handle(.didBecomeActive, in: "a")
    try await waitUntil { !test.gate.requiresAuthentication }
    #expect(test.askedCount == 2)
  }

  @Test func `an error of any kind ends a question, and another can be asked`() async throws {
    struct Odd: Error {}
    let count = Recorder<Void>()
    let gate = AuthenticationGate(configuration: .patient) { _ in
      count.append(())
      if count.all.count == 1 { throw Odd() }
      return PermanentToken()
    }
    let error = await expectFailure(AuthenticationError.failed) { try await gate.authenticate() }
    #expect(error?.underlying is Odd)
    #expect(!gate.isAuthenticating && gate.requiresAuthentication)
    try await gate.authenticate()
    #expect(!gate.requiresAuthentication)
  }
}
