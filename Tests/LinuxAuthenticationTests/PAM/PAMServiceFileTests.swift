import Foundation
import LinuxAuthentication
import SessionAuthentication
import SessionToolsTestSupport
import Testing

/// Services with missing, incomplete and unusual files.
@Suite struct PAMServiceFileTests {
  let services: PAMServices
  /// The rules of a service that admits everyone, under a name that must never be used.
  static let everyone = ["auth required pam_permit.so", "account required pam_permit.so"]

  init() throws {
    services = try PAMServices()
    try services.add("other", Self.everyone[0], Self.everyone[1])
    try services.add("auth-only", "# account", "auth required pam_permit.so", "")
    try services.add("account-only", "account required pam_permit.so")
    try services.add(
      "optional", "-auth required pam_permit.so", "\t-Account  required pam_permit.so")
    try services.add(
      "including", "auth include \(services["other"])",
      "account include \(services["other"])")
    // Debian's own form, which includes a file of the system whatever the directory is.
    try services.add("debian", "@include other")
    try services.add("empty")
  }

  @Test(arguments: ["no-such-service", "auth-only", "account-only", "empty", "", "a/b", "../other"])
  func `a service without a complete file is misconfigured, and "other" is never used`(
    service: String
  ) async throws {
    let prompt = ScriptedPrompt()
    let authenticator = services.authenticator(service, prompt)
    let error = try #require(await Evaluation.of(authenticator).error)
    #expect(error.code == .misconfigured)
    #expect(error.remedy != nil)
    #expect(await authenticator.unavailability?.code == .misconfigured)
  }

  @Test func `the remedy for a missing service shows the path and the content of its file`()
    async throws
  {
    let authenticator = services.authenticator("no-such-service", ScriptedPrompt())
    let remedy = try #require(await authenticator.unavailability?.remedy)
    #expect(remedy.contains("\(services.path)/no-such-service"))
    for line in PAMAuthenticator.exampleServiceFile.split(separator: "\n") {
      #expect(remedy.contains(line))
    }
    #expect(PAMAuthenticator.exampleServiceFile.contains("auth include"))
    #expect(PAMAuthenticator.exampleServiceFile.contains("account include"))
  }

  @Test func `a missing service of the system is misconfigured`() async throws {
    let authenticator = PAMAuthenticator(
      service: "session-tools-no-such-service", prompt: ScriptedPrompt())
    #expect(await Evaluation.of(authenticator).code == .misconfigured)
    let reason = try #require(await authenticator.unavailability?.reason)
    #expect(reason.contains("/etc/pam.d") && reason.contains("/usr/lib/pam.d"))
  }

  @Test(arguments: ["optional", "including", "Optional", "other"])
  func `a service with a complete file is available, and PAM gets its name in lower case`(
    service: String
  ) async throws {
    let authenticator = services.authenticator(service, ScriptedPrompt())
    #expect(await authenticator.unavailability == nil)
    #expect(await Evaluation.of(authenticator).code == .passcodeNotSet)
  }

  @Test func `an include in Debian's form counts as rules of both kinds`() async throws {
    #expect(await services.authenticator("debian", ScriptedPrompt()).unavailability == nil)
  }

  @Test func `checking the availability asks no question and runs no module`() async throws {
    try services.add(
      "marking", "auth required pam_exec.so /usr/bin/touch \(services["mark"])",
      "account required pam_permit.so")
    let prompt = ScriptedPrompt()
    let authenticator = services.authenticator("marking", prompt)
    #expect(await authenticator.unavailability == nil)
    #expect(!exists("mark") && prompt.questions.isEmpty && prompt.messages.isEmpty)
    // The module would have left its mark.
    _ = await Evaluation.of(authenticator)
    #expect(exists("mark"))
  }

  private func exists(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: services[name])
  }
}
