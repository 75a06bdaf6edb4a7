import SessionToolsBusTestSupport
import SessionToolsDBus
import LinuxAuthentication
import SessionAuthentication
import SessionToolsTestSupport
import Testing

/// The real polkitd, with an agent that asks a person or acts as one.
@Suite struct PolkitTests {
  let service: PolkitService

  init() async throws {
    service = try await PolkitService()
  }

  /// Starts a worker that waits for a line, so that an agent can be registered for it first.
  private func worker(
    _ action: String = PolkitService.action, seconds: Int = 300,
    as identifier: Int? = OtherAccounts.ada.identifier
  ) async throws -> AuthenticationWorker {
    try await service.worker("polkit", action, "\(seconds)", as: identifier)
  }

  /// Returns the outcome of an evaluation with an agent of some conduct.
  private func outcome(_ conduct: String, _ password: String = "") async throws -> String? {
    let worker = try await worker()
    let agent = try await service.agent(for: worker.process, conduct, password)
    try worker.send("begin")
    let outcome = try await worker.line()
    withExtendedLifetime(agent) {}
    return outcome
  }

  @Test func `the right password authenticates, and the program never sees it`() async throws {
    #expect(
      try await outcome("terminal", OtherAccounts.password) == "authenticated system")
  }

  @Test func `a wrong password fails`() async throws {
    #expect(try await outcome("terminal", "wrong") == "error failed")
  }

  @Test func `dismissing the question cancels`() async throws {
    #expect(try await outcome("dismiss") == "error userCancel")
  }

  @Test func `an agent that only claims success does not authenticate`() async throws {
    #expect(try await outcome("confirm") == "error failed")
  }

  @Test func `an agent that ends while it asks fails`() async throws {
    #expect(try await outcome("die") == "error failed")
  }

  @Test func `without an agent no question can be asked`() async throws {
    let worker = try await worker()
    try worker.send("begin")
    #expect(try await worker.line() == "error notInteractive")
  }

  @Test func `the question has the text of the policy file`() async throws {
    let worker = try await worker()
    let agent = try await service.agent(for: worker.process, "dismiss")
    try worker.send("begin")
    let question = try await agent.line()
    #expect(question == "asked \(PolkitService.message)")
    #expect(try await worker.line() == "error userCancel")
  }

  @Test func `cancelling takes the question off the screen`() async throws {
    let worker = try await worker()
    let agent = try await service.agent(for: worker.process, "wait")
    try worker.send("begin")
    let question = try await agent.line()
    #expect(question == "asked \(PolkitService.message)")
    try worker.send("cancel")
    #expect(try await worker.line() == "error appCancel")
    #expect(try await agent.line() == "cancelled")
  }

  @Test func `a question that is not answered in time is taken off the screen`() async throws {
    let worker = try await worker(seconds: 10)
    let agent = try await service.agent(for: worker.process, "wait")
    try worker.send("begin")
    let question = try await agent.line()
    #expect(question == "asked \(PolkitService.message)")
    #expect(try await worker.line() == "error timedOut")
    #expect(try await agent.line() == "cancelled")
  }

  @Test func `a polkitd that ends while it asks is lost`() async throws {
    let worker = try await worker()
    let agent = try await service.agent(for: worker.process, "wait")
    try worker.send("begin")
    let question = try await agent.line()
    #expect(question == "asked \(PolkitService.message)")
    service.kill()
    #expect(try await worker.line() == "error serviceLost")
  }

  @Test(arguments: [
    (PolkitService.action, "available"), (PolkitService.free, "available"),
    (PolkitService.forbidden, "error notPermitted"),
    ("org.sessiontools.test.unknown", "error misconfigured"), ("no action", "error misconfigured"),
    ("", "error misconfigured"),
  ])
  func `the availability of an action is found without a question`(
    action: String, availability: String
  ) async throws {
    let worker = try await service.worker("polkit-availability", action)
    let agent = try await service.agent(for: worker.process, "wait")
    try worker.send("begin")
    #expect(try await worker.line() == availability)
    // If it had asked, the agent would wait and the worker would not have answered.
    withExtendedLifetime(agent) {}
  }

  @Test(arguments: [
    (PolkitService.free, "authenticated system"), (PolkitService.forbidden, "error notPermitted"),
    ("org.sessiontools.test.unknown", "error misconfigured"), ("no\taction", "error misconfigured"),
  ])
  func `an action that needs no question has its outcome at once`(
    action: String, outcome: String
  ) async throws {
    let worker = try await worker(action)
    try worker.send("begin")
    #expect(try await worker.line() == outcome)
  }

  @Test func `root is not asked, as the documentation says`() async throws {
    let worker = try await worker(as: nil)
    try worker.send("begin")
    #expect(try await worker.line() == "authenticated system")
  }
}

/// Machines without polkit.
@Suite struct MissingPolkitTests {
  @Test func `without polkit, or without a bus, it is misconfigured`() async throws {
    let bus = try await PrivateBus()
    for (address, text) in [
      (bus.address, "Install polkitd"), ("unix:path=/nonexistent/bus", "no system bus"),
    ] {
      let authenticator = PolkitAuthenticator(action: PolkitService.action, busAddress: address)
      let reason = try #require(await authenticator.unavailability)
      let error = try #require(await Evaluation.of(authenticator).error)
      for error in [reason, error] {
        #expect(error.code == .misconfigured)
        #expect(error.description.contains(text), "\(error)")
      }
    }
  }

  @Test func `a policy has the path where polkit looks, and is XML whatever the message is`() {
    let policy = PolkitAuthenticator.Policy(
      action: "com.example.unlock", message: "Unlock\n\"a\" & <b>]]>")
    #expect(policy.path == "/usr/share/polkit-1/actions/com.example.unlock.policy")
    let plain = PolkitAuthenticator.Policy(action: "a", message: "Öffne \"dies\" > jetzt")
    #expect(plain.content.contains("<message>Öffne \"dies\" > jetzt</message>"))
    #expect(policy.content.contains("<action id=\"com.example.unlock\">"))
    #expect(policy.content.contains("<message><![CDATA[Unlock \"a\" & <b>]] >]]></message>"))
  }
}
