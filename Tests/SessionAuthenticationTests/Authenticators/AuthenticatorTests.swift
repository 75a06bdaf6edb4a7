import SessionAuthentication
import SessionToolsBase
import SessionToolsTesting
import Testing

struct AuthenticatorTests {
  let request = AuthenticationRequest(reason: "test", fallbackTitle: "Use the password")

  @Test func `the first that is available is asked`() async throws {
    let absent = ScriptedAuthenticator(unavailability: .noReader)
    let present = ScriptedAuthenticator(method: .passcode)
    let last = ScriptedAuthenticator()
    let first = FirstAvailableAuthenticator([absent, present, last])
    try await first.checkAvailability()
    #expect(try await first.evaluate(request) == .passcode)
    #expect(absent.requests.isEmpty && last.requests.isEmpty)
  }

  @Test func `a person who wants another way gets it, and a failure is final`() async throws {
    let finger = ScriptedAuthenticator([
      .failure(AuthenticationError(.userFallback, "another way")),
      .failure(AuthenticationError(.failed, "no match")),
    ])
    let password = ScriptedAuthenticator(method: .passcode)
    let first = FirstAvailableAuthenticator([finger, password])
    #expect(try await first.evaluate(request) == .passcode)
    await expectFailure(AuthenticationError.failed) { try await first.evaluate(request) }
    #expect(password.requests.count == 1)
  }

  @Test func `if the question cannot be shown, the next authenticator is asked`() async throws {
    let agentless = ScriptedAuthenticator([
      .failure(AuthenticationError(.notInteractive, "no agent"))
    ])
    let password = ScriptedAuthenticator(method: .passcode)
    let first = FirstAvailableAuthenticator([agentless, password])
    #expect(try await first.evaluate(request) == .passcode)
  }

  @Test func `without an available authenticator, authentication fails`() async throws {
    let none = FirstAvailableAuthenticator([])
    await expectFailure(AuthenticationError.misconfigured) { try await none.checkAvailability() }
    await expectFailure(AuthenticationError.misconfigured) { try await none.evaluate(request) }
    let absent = FirstAvailableAuthenticator([
      ScriptedAuthenticator(unavailability: .noReader)
    ])
    await expectFailure(AuthenticationError.biometryNotAvailable) {
      try await absent.evaluate(request)
    }
  }
}

extension AuthenticationError {
  fileprivate static let noReader = AuthenticationError(.biometryNotAvailable, "no reader")
}
