import Foundation
import SessionAuthentication
import SessionToolsTesting
import Testing

struct AuthenticationGateTests {
  // MARK: - One question for all scenes

  @Test func `a gate begins locked, and each scene is told`() {
    let test = TestGate { $0.requestsAutomatically = false }
    test.connect("a", "b", isActive: true)
    #expect(test.gate.requiresAuthentication)
    #expect(test.reported("a") == ["locked"])
    #expect(test.reported("b") == ["locked"])
    #expect(test.askedCount == 0)
  }

  @Test func `all scenes begin, one presents, and all complete`() async throws {
    let test = TestGate(.waiting)
    test.connect("a", "b", "c")
    test.gate.handle(.didBecomeActive, in: "b")
    // Each scene also requests authentication, as programs do.
    let waiting = ["a", "b", "c"].map { scene in
      Task { try await test.gate.authenticate(in: SceneIdentifier(scene)) }
    }
    try await test.waitUntilAsked()
    #expect(test.gate.isAuthenticating)
    test.authenticator.answer(.success(()))
    for task in waiting { try await task.value }
    #expect(test.askedCount == 1)
    #expect(test.reported("a") == ["locked", "authenticating", "authenticated"])
    #expect(test.reported("b") == ["locked", "presents", "authenticated"])
    #expect(test.reported("c") == ["locked", "authenticating", "authenticated"])
  }

  @Test func `all scenes are told of a failure, and one may try again`() async throws {
    let test = TestGate(.failure(.userCancelled), .success)
    test.connect("a", "b", isActive: true)
    for scene: SceneIdentifier in ["a", "b"] {
      try await waitUntil { test.reported(scene).last == "failed: userCancel" }
    }
    try await test.gate.authenticate(in: "b")
    #expect(test.reported("a").suffix(2) == ["authenticating", "authenticated"])
    #expect(test.reported("b").suffix(2) == ["presents", "authenticated"])
  }

  @Test func `a scene that connects during a question takes part in it`() async throws {
    let test = TestGate(.waiting)
    test.connect("a", isActive: true)
    try await test.waitUntilAsked()
    test.connect("late")
    test.authenticator.answer(.success(()))
    try await waitUntil { test.reported("late").last == "authenticated" }
    #expect(test.reported("late") == ["authenticating", "authenticated"])
  }

  @Test func `a presenter that disconnects ends its question, and no waiter is left`() async throws
  {
    let test = TestGate(.waiting, .success)
    test.connect("a", isActive: true)
    test.connect("b")
    try await test.waitUntilAsked()
    let codes = Recorder<AuthenticationError.Code>()
    test.gate.deferUntilAuthenticated {
      if case .failure(let error) = $0 { codes.append(error.code) }
    }
    test.gate.disconnect("a")
    #expect(codes.all == [AuthenticationError.appCancel])
    #expect(test.reported("b").last == "failed: appCancel")
    try await test.gate.authenticate(in: "b")
    #expect(test.askedCount == 2)
  }

  // MARK: - Coming and going

  @Test func `a return within the grace time needs no question, and extends no token`() async throws
  {
    let test = TestGate(lifetime: .seconds(60)) { $0.graceDuration = .seconds(15) }
    test.connect("a", isActive: true)
    try await waitUntil { !test.gate.requiresAuthentication }
    test.gate.handle(.didEnterBackground, in: "a")
    test.clock.advance(by: .seconds(14))
    test.gate.handle(.didBecomeActive, in: "a")
    #expect(!test.gate.requiresAuthentication)
    #expect(test.askedCount == 1)
    test.clock.advance(by: .seconds(46))
    #expect(test.gate.requiresAuthentication, "the return extended the token")
  }

  @Test func `a return after the grace time needs another question`() async throws {
    let test = TestGate { $0.graceDuration = .seconds(15) }
    test.connect("a", isActive: true)
    try await waitUntil { !test.gate.requiresAuthentication }
    test.gate.handle(.didEnterBackground, in: "a")
    test.clock.suspend(for: .seconds(15))
    #expect(test.gate.requiresAuthentication)
    try await waitUntil { test.reported("a").last == "locked" }
    test.gate.handle(.didBecomeActive, in: "a")
    try await waitUntil { !test.gate.requiresAuthentication }
    #expect(test.askedCount == 2)
  }

  @Test func `switching between two windows locks nothing`() async throws {
    let test = TestGate { $0.invalidation = .resignActive }
    test.connect("a", "b")
    test.gate.handle(.didBecomeActive, in: "a")
    try await waitUntil { !test.gate.requiresAuthentication }
    test.gate.handle(.willResignActive, in: "a")
    test.clock.advance(by: .milliseconds(100))
    test.gate.handle(.didBecomeActive, in: "b")
    test.clock.advance(by: .seconds(60))
    #expect(!test.gate.requiresAuthentication)
    test.gate.handle(.willResignActive, in: "b")
    test.clock.advance(by: .milliseconds(300))
    #expect(test.gate.requiresAuthentication)
  }

  @Test(arguments: [true, false])
  func `a window that is recreated without the focus counts as an absence`(
    isShownSoon: Bool
  ) async throws {
    let test = TestGate { $0.requestsAutomatically = false }
    test.connect("a", isActive: true)
    try await test.open()
    test.connect("a")
    #expect(!test.gate.requiresAuthentication)
    if isShownSoon { test.gate.handle(.didBecomeActive, in: "a") }
    test.clock.advance(by: .seconds(600))
    #expect(test.gate.requiresAuthentication == !isShownSoon)
  }

  @Test func `the desktop's events lock, and no question is asked behind its lock`() async throws {
    let test = TestGate()
    test.connect("a", isActive: true)
    try await waitUntil { !test.gate.requiresAuthentication }
    test.gate.handle(.sessionLocked)
    #expect(test.gate.requiresAuthentication)
    test.gate.handle(.didBecomeActive, in: "a")
    #expect(test.askedCount == 1)
    test.gate.handle(.sessionUnlocked)
    try await waitUntil { !test.gate.requiresAuthentication }
    #expect(test.askedCount == 2)
    test.gate.handle(.willSleep)
    #expect(test.gate.requiresAuthentication)
    test.gate.handle(.didWake)
    try await waitUntil { !test.gate.requiresAuthentication }
    #expect(test.askedCount == 3)
  }

  @Test func `a desktop that never reports its unlocking shows it by the focus`() async throws {
    let test = TestGate()
    test.connect("a", isActive: true)
    try await waitUntil { !test.gate.requiresAuthentication }
    test.gate.handle(.sessionLocked)
    test.gate.handle(.willResignActive, in: "a")
    // A window that connects behind the lock.
    test.connect("b", isActive: true)
    #expect(test.askedCount == 1)
    test.gate.handle(.didBecomeActive, in: "a")
    try await waitUntil { !test.gate.requiresAuthentication }
    #expect(test.askedCount == 2)
  }

  @Test func `a lock during a question overrides its success`() async throws {
    // A question that ignores its cancellation and succeeds.
    let (isAsked, answer) = (Recorder<Void>(), AsyncStream.makeStream(of: Void.self))
    let gate = AuthenticationGate(configuration: .patient) { _ in
      isAsked.append(())
      await Task { for await _ in answer.stream { break } }.value
      return PermanentToken()
    }
    let waiter = Task { try await gate.authenticate() }
    try await waitUntil { isAsked.all.count == 1 }
    gate.handle(.sessionLocked)
    await expectFailure(AuthenticationError.systemCancel) { try await waiter.value }
    // The next question is asked when the first has ended, and not before.
    let next = Task { try await gate.authenticate() }
    try await Task.sleep(for: .milliseconds(20))
    #expect(isAsked.all.count == 1)
    answer.continuation.yield()
    try await waitUntil { isAsked.all.count == 2 }
    #expect(gate.requiresAuthentication)
    answer.continuation.finish()
    try await next.value
  }

  /// Returns a gate whose questions ignore their cancellation.
  private func stubbornGate() -> (AuthenticationGate, AsyncStream<Void>.Continuation) {
    let (answers, answer) = AsyncStream.makeStream(of: Void.self)
    let gate = AuthenticationGate(configuration: .patient) { _ in
      await Task { for await _ in answers { break } }.value
      return PermanentToken()
    }
    return (gate, answer)
  }

  @Test func `a second lock fails the waiters for the next question`() async throws {
    let (gate, answer) = stubbornGate()
    let first = Task { try await gate.authenticate() }
    try await waitUntil { gate.isAuthenticating }
    gate.handle(.sessionLocked)
    await expectFailure(AuthenticationError.systemCancel) { try await first.value }
    let second = Task { try await gate.authenticate() }
    let codes = Recorder<AuthenticationError.Code>()
    gate.deferUntilAuthenticated { if case .failure(let error) = $0 { codes.append(error.code) } }
    // A lock has no effect until the work waits.
    try await waitUntil {
      gate.handle(.willSleep)
      return !codes.all.isEmpty
    }
    await expectFailure(AuthenticationError.systemCancel) { try await second.value }
    answer.finish()
  }

  @Test func `a presenter that disconnects before its question leaves it to another`() async throws
  {
    let (gate, answer) = stubbornGate()
    let first = Task { try await gate.authenticate() }
    try await waitUntil { gate.isAuthenticating }
    gate.invalidate()
    await expectFailure(AuthenticationError.appCancel) { try await first.value }
    gate.connect("b") { _ in }
    gate.handle(.willEnterForeground, in: "b")
    let answered = Recorder<Bool>()
    let second = Task {
      answered.append((try? await gate.authenticate(in: "b")) != nil)
    }
    for _ in 0..<1000 { await Task.yield() }
    gate.disconnect("b")
    answer.finish()
    await second.value
    #expect(answered.all.count == 1, "the waiter gets one result, success or failure")
  }

  @Test func `an unanswered question ends`() async throws {
    let test = TestGate(.waiting)
    let waiter = Task { try await test.gate.authenticate() }
    try await test.waitUntilAsked()
    test.clock.advance(by: .seconds(180))
    await expectFailure(AuthenticationError.timedOut) { try await waiter.value }
    try await waitUntil { test.authenticator.underWayCount == 0 }
  }

  @Test func `a token that is not valid opens nothing`() async throws {
    let test = TestGate(lifetime: .zero)
    await expectFailure(AuthenticationError.invalidToken) { try await test.gate.authenticate() }
    #expect(test.gate.requiresAuthentication)
  }

  @Test func `a token that was kept opens the gate if it is still valid`() async throws {
    let clock = ManualClock()
    let token = ExpiringToken(lifetime: .seconds(60), clock: clock)
    func gate() -> AuthenticationGate {
      AuthenticationGate(token: token, clock: clock) { _ in throw AuthenticationError.userCancelled
      }
    }
    #expect(!gate().requiresAuthentication)
    clock.suspend(for: .seconds(60))
    #expect(gate().requiresAuthentication)
  }

  @Test func `a disabled gate is open, and as locked as before when it is enabled`() async throws {
    let test = TestGate(.failure(.userCancelled)) { $0.isEnabled = false }
    test.connect("a", isActive: true)
    #expect(!test.gate.requiresAuthentication)
    #expect(test.askedCount == 0)
    #expect(try await test.gate.whenAuthenticated { 1 } == 1)
    test.gate.configuration.isEnabled = true
    #expect(test.gate.requiresAuthentication)
    #expect(test.reported("a") == ["authenticated", "locked"])
  }

  @Test(.timeLimit(.minutes(1)))
  func `tasks that stop reading the states do not hold up the gate`() async throws {
    let gate = AuthenticationGate { _ in PermanentToken() }
    let changing = Task.detached {
      while !Task.isCancelled { gate.configuration.isEnabled.toggle() }
    }
    for _ in 0..<5000 {
      let reading = Task { for await _ in gate.states {} }
      await Task.yield()
      reading.cancel()
      await reading.value
    }
    changing.cancel()
    await changing.value
  }

  @Test func `the states of a gate are reported as they change`() async throws {
    let test = TestGate(.waiting)
    var states = test.gate.states.makeAsyncIterator()
    guard case .locked = await states.next() else { throw NeverHappened() }
    let waiter = Task { try await test.gate.authenticate() }
    guard case .evaluating = await states.next() else { throw NeverHappened() }
    try await test.waitUntilAsked()
    test.authenticator.answer(.failure(.userCancelled))
    guard case .failed = await states.next() else { throw NeverHappened() }
    await expectFailure(AuthenticationError.userCancel) { try await waiter.value }
    // A state is reported once, whatever else happens.
    let (isListening, stream) = (Recorder<Void>(), test.gate.states)
    let next = Task {
      var states = stream.makeAsyncIterator()
      guard case .failed = await states.next() else { throw NeverHappened() }
      isListening.append(())
      return await states.next()
    }
    try await waitUntil { isListening.all.count == 1 }
    test.connect("a")
    for _ in 0..<100 { await Task.yield() }
    test.gate.configuration.isEnabled = false
    guard case .unlocked = try await next.value else { throw NeverHappened() }
  }

  @Test func `a gate that is released fails all waiters`() async throws {
    let answers = Recorder<AuthenticationError.Code>()
    var gate: AuthenticationGate? = AuthenticationGate { _ in PermanentToken() }
    gate?.deferUntilAuthenticated {
      if case .failure(let error) = $0 { answers.append(error.code) }
    }
    #expect(answers.all.isEmpty)
    gate = nil
    #expect(answers.all == [AuthenticationError.appCancel])
  }
}
