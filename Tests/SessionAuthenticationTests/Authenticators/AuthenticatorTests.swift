import SessionAuthentication
import SessionToolsBase
import SessionToolsTesting
import Testing

struct AuthenticatorTests {
  let request = AuthenticationRequest(reason: "test", fallbackTitle: "Use the password")

  // MARK: - First available

  @Test func `the first that is available is asked`() async throws {
    let absent = ScriptedAuthenticator(availability: .unavailable(.noReader))
    let present = ScriptedAuthenticator(method: .passcode)
    let last = ScriptedAuthenticator()
    let first = FirstAvailableAuthenticator([absent, present, last])
    #expect(await first.availability().isAvailable)
    #expect(try await first.evaluate(request) == .passcode)
    #expect(absent.requests.isEmpty && last.requests.isEmpty)
  }

  @Test func `a person who wants another way gets it, and a failure is final`() async throws {
    let finger = ScriptedAuthenticator([
      .failure(AuthenticationError(AuthenticationError.userFallback, "another way")),
      .failure(AuthenticationError(AuthenticationError.failed, "no match")),
    ])
    let password = ScriptedAuthenticator(method: .passcode)
    let first = FirstAvailableAuthenticator([finger, password])
    #expect(try await first.evaluate(request) == .passcode)
    await expectFailure(AuthenticationError.failed) { try await first.evaluate(request) }
    #expect(password.requests.count == 1)
  }

  @Test func `if the question cannot be shown, the next authenticator is asked`() async throws {
    let agentless = ScriptedAuthenticator([
      .failure(AuthenticationError(AuthenticationError.notInteractive, "no agent"))
    ])
    let password = ScriptedAuthenticator(method: .passcode)
    let first = FirstAvailableAuthenticator([agentless, password])
    #expect(try await first.evaluate(request) == .passcode)
  }

  @Test func `without an available authenticator, authentication fails`() async throws {
    let none = FirstAvailableAuthenticator([])
    #expect(await !none.availability().isAvailable)
    await expectFailure(AuthenticationError.misconfigured) { try await none.evaluate(request) }
    let absent = FirstAvailableAuthenticator([
      ScriptedAuthenticator(availability: .unavailable(.noReader))
    ])
    await expectFailure(AuthenticationError.biometryNotAvailable) {
      try await absent.evaluate(request)
    }
  }

  // MARK: - Context

  @Test func `authentication is needed before the first success and after a failure`() async throws
  {
    let clock = ManualClock()
    let context = AuthenticationContext(
      ScriptedAuthenticator([.failure(.userCancelled), .success]), clock: clock)
    #expect(context.needsReauthentication(after: .seconds(3600)))
    await expectFailure(AuthenticationError.userCancel) { try await context.evaluate(request) }
    #expect(context.needsReauthentication(after: .seconds(3600)))
    // A context can be evaluated again after a failure.
    _ = try await context.evaluate(request)
    #expect(!context.needsReauthentication(after: .seconds(3600)))
    #expect(context.needsReauthentication(after: .zero))
    clock.jump(wallClockBy: .seconds(-86_400))
    clock.suspend(for: .seconds(3599))
    #expect(!context.needsReauthentication(after: .seconds(3600)))
    clock.suspend(for: .seconds(1))
    #expect(context.needsReauthentication(after: .seconds(3600)))
  }

  @Test func `no question is asked within the reuse duration, which is never long`() async throws {
    let clock = ManualClock()
    let authenticator = ScriptedAuthenticator()
    let context = AuthenticationContext(
      authenticator, reuseDuration: .seconds(86_400), clock: clock)
    _ = try await context.evaluate(request)
    clock.advance(by: .seconds(299))
    _ = try await context.evaluate(request)
    #expect(authenticator.requests.count == 1)
    clock.advance(by: .seconds(1))
    _ = try await context.evaluate(request)
    #expect(authenticator.requests.count == 2)
    context.invalidate()
    _ = try await context.evaluate(request)
    #expect(authenticator.requests.count == 3)
  }

  @Test func `a second question while one is shown is refused, and the first continues`()
    async throws
  {
    let authenticator = ScriptedAuthenticator([.waiting])
    let context = AuthenticationContext(authenticator)
    let first = Task { try await context.evaluate(request) }
    try await waitUntil { authenticator.underWayCount == 1 }
    guard case .evaluating = context.state else { throw NeverHappened() }
    await expectFailure(AuthenticationError.busy) { try await context.evaluate(request) }
    authenticator.answer(.success(()))
    _ = try await first.value
    guard case .authenticated = context.state else { throw NeverHappened() }
  }

  @Test func `a question that is invalidated before its answer opens nothing`() async throws {
    let authenticator = ScriptedAuthenticator([.waiting])
    let context = AuthenticationContext(authenticator)
    let first = Task { try await context.evaluate(request) }
    try await waitUntil { authenticator.underWayCount == 1 }
    context.invalidate()
    authenticator.answer(.success(()))
    await expectFailure(AuthenticationError.appCancel) { try await first.value }
    #expect(context.needsReauthentication(after: .seconds(3600)))
  }
}

extension AuthenticationError {
  fileprivate static let noReader = AuthenticationError(biometryNotAvailable, "no reader")
}
