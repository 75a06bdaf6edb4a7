import Testing

/// Tokens with the kernel's clock, where a time namespace shifts the clock by the time that the
/// machine has slept.
@Suite struct SuspendedTokenTests {
  /// Starts the worker with the clock of a machine that has slept.
  private func worker(_ arguments: String..., asleep seconds: Int) async throws
    -> AuthenticationWorker
  {
    try await AuthenticationWorker(
      arguments, under: ["/usr/bin/unshare", "--time", "--boottime", "\(seconds)"])
  }

  private func token(lifetime: Int, asleep seconds: Int = 0) async throws -> String {
    try #require(await worker("issue", "\(lifetime)", asleep: seconds).line())
  }

  private func counts(_ token: String, asleep seconds: Int) async throws -> String? {
    let worker = try await worker("check", asleep: seconds)
    try worker.send(token)
    return try await worker.line()
  }

  @Test func `the time that the machine sleeps counts`() async throws {
    let token = try await token(lifetime: 1800)
    #expect(try await counts(token, asleep: 0) == "true")
    #expect(try await counts(token, asleep: 600) == "true")
    #expect(try await counts(token, asleep: 1800) == "false")
  }

  @Test func `a token from a later time does not count`() async throws {
    let token = try await token(lifetime: 1800, asleep: 600)
    #expect(try await counts(token, asleep: 0) == "false")
    #expect(try await counts(token, asleep: 600) == "true")
  }
}
