import SessionToolsBusTestSupport
import LinuxAuthentication
import SessionAuthentication
import SessionToolsTestSupport
import Testing

/// The reasons why no fingerprint can be read, which availability and evaluation both report.
@Suite struct FingerprintAvailabilityTests {
  private func expect(
    _ code: AuthenticationError.Code, _ text: String, at address: String
  ) async throws {
    let prompt = ScriptedPrompt()
    let authenticator = FingerprintAuthenticator(busAddress: address, prompt: prompt)
    let reason = try #require(await authenticator.unavailability)
    let error = try #require(await Evaluation.of(authenticator).error)
    for error in [reason, error] {
      #expect(error.code == code)
      #expect(error.description.contains(text), "\(error)")
    }
    #expect(prompt.messages.isEmpty)
  }

  @Test func `without a bus there is no reader`() async throws {
    try await expect(
      AuthenticationError.biometryNotAvailable, "no system bus",
      at: "unix:path=/nonexistent/bus")
  }

  @Test func `without a service there is no reader, and fprintd is suggested`() async throws {
    let bus = try await PrivateBus()
    try await expect(
      AuthenticationError.biometryNotAvailable, "Install fprintd", at: bus.address)
  }

  @Test func `a service without a reader reports that it has no reader`() async throws {
    let service = try await FingerprintService(hasReader: false)
    try await expect(
      AuthenticationError.biometryNotAvailable, "there is no fingerprint reader",
      at: service.bus.address)
  }

  @Test func `a reader without enrolled fingers is not the same as no reader`() async throws {
    let service = try await FingerprintService()
    try await expect(
      AuthenticationError.biometryNotEnrolled, "fprintd-enroll", at: service.bus.address)
  }

  @Test func `a user whom the system's rules exclude is not permitted`() async throws {
    let service = try await FingerprintService(isAllowed: false)
    try await expect(
      AuthenticationError.notPermitted, "active session", at: service.bus.address)
  }
}
