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

  @Test func `a person who wants another way gets it, and a no is an answer`() async throws {
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

  @Test func `where nobody could show the question, the next one does`() async throws {
    let agentless = ScriptedAuthenticator([
      .failure(AuthenticationError(AuthenticationError.notInteractive, "no agent"))
    ])
    let password = ScriptedAuthenticator(method: .passcode)
    let first = FirstAvailableAuthenticator([agentless, password])
    #expect(try await first.evaluate(request) == .passcode)
  }

  @Test func `with none nobody is authenticated`() async throws {
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

  @Test func `whoever was never authenticated needs it, and so does whoever failed`() async throws {
    let clock = ManualClock()
    let context = AuthenticationContext(
      ScriptedAuthenticator([.failure(.userCancelled), .success]), clock: clock)
    #expect(context.needsReauthentication(after: .seconds(3600)))
    await expectFailure(AuthenticationError.userCancel) { try await context.evaluate(request) }
    #expect(context.needsReauthentication(after: .seconds(3600)))
    // It can be asked again, whatever came before.
    _ = try await context.evaluate(request)
    #expect(!context.needsReauthentication(after: .seconds(3600)))
    #expect(context.needsReauthentication(after: .zero))
    clock.jump(wallClockBy: .seconds(-86_400))
    clock.suspend(for: .seconds(3599))
    #expect(!context.needsReauthentication(after: .seconds(3600)))
    clock.suspend(for: .seconds(1))
    #expect(context.needsReauthentication(after: .seconds(3600)))
  }

  @Test func `nobody is asked again within the reuse duration, which is never long`() async throws {
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

  @Test func `a second question while one is shown is refused, and the first goes on`() async throws
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

  @Test func `what is invalidated while it is asked opens nothing`() async throws {
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
