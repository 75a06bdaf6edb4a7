import Foundation
import LinuxAuthentication
import SessionAuthentication
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// The conversation between modules and a person.
@Suite struct PAMTests {
  let services: PAMServices

  init() throws {
    services = try PAMServices()
  }

  @Test func `the right password is a passcode, asked for once and not echoed`() async throws {
    let prompt = ScriptedPrompt(.text("right"))
    let authenticator = services.authenticator(try services.addMatrix(), prompt)
    #expect(await Evaluation.of(authenticator) == .authenticated(.passcode))
    #expect(prompt.questions.map(\.text) == ["Password: "])
    #expect(prompt.questions.map(\.isSecret) == [true])
    #expect(prompt.questions.map(\.failureCount) == [0])
    #expect(prompt.questions.map(\.request.reason) == ["try it"])
  }

  @Test func `a wrong password fails`() async throws {
    let authenticator = services.authenticator(
      try services.addMatrix(), ScriptedPrompt(.text("wrong")))
    #expect(await Evaluation.of(authenticator).code == .failed)
  }

  @Test func `an account that the service does not know fails like a wrong password`() async throws
  {
    let authenticator = PAMAuthenticator(
      service: try services.addMatrix(), user: "no-such-account",
      configurationDirectory: services.path, prompt: ScriptedPrompt(.text("right")))
    #expect(await Evaluation.of(authenticator).code == .failed)
  }

  // pam_matrix returns 9 and pam_unix 20, which would otherwise be notPermitted and failed.
  @Test(arguments: ["matrix", "unix"])
  func `a cancellation is reported as such, whatever code the module returns`(
    service: String
  ) async throws {
    try services.addMatrix()
    try services.add("unix", "auth required pam_unix.so", "account required pam_permit.so")
    let cancelling = services.authenticator(service, ScriptedPrompt(.cancelled))
    #expect(await Evaluation.of(cancelling).code == .userCancel)
    let leaving = services.authenticator(service, ScriptedPrompt(.fallback))
    #expect(await Evaluation.of(leaving).code == .userFallback)
  }

  @Test func `after a cancellation the next module neither asks nor authenticates`() async throws {
    let module = try PAMServices.module("pam_wrapper/pam_matrix.so")
    try services.addMatrix()
    try services.add(
      "several", "auth optional \(module) passdb=\(services["passdb"])",
      "auth optional \(module) passdb=\(services["passdb"])", "auth required pam_permit.so",
      "account required pam_permit.so")
    let prompt = ScriptedPrompt(.cancelled, .text("right"))
    let outcome = await Evaluation.of(services.authenticator("several", prompt))
    #expect(outcome.code == .userCancel)
    #expect(prompt.questions.count == 1)
  }

  @Test func `a repeated question has the number of failed answers`() async throws {
    let module = try PAMServices.module("pam_wrapper/pam_matrix.so")
    try services.addMatrix()
    try Data("\(NSUserName()):right:twice\n".utf8)
      .write(to: URL(filePath: services["passdb"]))
    try services.add(
      "twice", "auth sufficient \(module) passdb=\(services["passdb"])",
      "auth required \(module) passdb=\(services["passdb"])", "account required pam_permit.so")
    let prompt = ScriptedPrompt(.text("wrong"), .text("right"))
    let outcome = await Evaluation.of(services.authenticator("twice", prompt))
    #expect(outcome == .authenticated(.passcode))
    #expect(prompt.questions.map(\.failureCount) == [0, 1])
  }

  @Test(arguments: [
    "Place your finger on the fingerprint reader", "Swipe your left thumb across Goodix MOC",
    "Please touch the device.",
  ])
  func `a module that waits for a finger or a touch authenticates by the system`(cue: String)
    async throws
  {
    try Data(cue.utf8).write(to: URL(filePath: services["text"]))
    try services.add(
      "finger", "auth required pam_echo.so file=\(services["text"])",
      "auth required pam_permit.so", "account required pam_permit.so")
    let prompt = ScriptedPrompt()
    let outcome = await Evaluation.of(services.authenticator("finger", prompt))
    #expect(outcome == .authenticated(.system))
    #expect(prompt.messages == [.hint(cue)])
  }

  @Test(arguments: ["Welcome", "Place your finger on ", "You have new mail."])
  func `a module that only sends a message does not count as a person`(text: String) async throws {
    try Data(text.utf8).write(to: URL(filePath: services["text"]))
    try services.add(
      "echo", "auth required pam_echo.so file=\(services["text"])", "auth required pam_permit.so",
      "account required pam_permit.so")
    let outcome = await Evaluation.of(services.authenticator("echo", ScriptedPrompt()))
    #expect(outcome.code == .passcodeNotSet)
    #expect(outcome.error?.reason.contains("asked for nothing") == true)
  }

  @Test func `an account for which no password is asked has no passcode`() async throws {
    try services.add(
      "nothing", "auth required pam_permit.so", "account required pam_permit.so")
    let outcome = await Evaluation.of(services.authenticator("nothing", ScriptedPrompt()))
    #expect(outcome.code == .passcodeNotSet)
  }

  @Test(arguments: ["auth", "account"])
  func `a module's message does not make up for a password that is not set`(kind: String)
    async throws
  {
    // As from pam_fprintd when no finger was put on the reader, and from pam_unix when a password
    // will expire.
    let text = kind == "auth" ? "Verification timed out" : "Warning: your password will expire"
    try Data(text.utf8).write(to: URL(filePath: services["text"]))
    let echo = "\(kind) required pam_echo.so file=\(services["text"])"
    try services.add(
      "telling", kind == "auth" ? echo : "auth required pam_permit.so",
      "auth required pam_permit.so", kind == "account" ? echo : "account required pam_permit.so",
      "account required pam_permit.so")
    let outcome = await Evaluation.of(services.authenticator("telling", ScriptedPrompt()))
    #expect(outcome.code == .passcodeNotSet)
  }

  @Test func `an earlier failure with a message does not make up for a password that is not set`()
    async throws
  {
    let module = try PAMServices.module("pam_wrapper/pam_chatty.so")
    try services.add(
      "failing", "auth required \(module) num_lines=1 info error", "auth required pam_permit.so",
      "account required pam_permit.so")
    let prompt = ScriptedPrompt()
    let outcome = await Evaluation.of(services.authenticator("failing", prompt))
    #expect(outcome.code == .passcodeNotSet)
    #expect(
      Set(prompt.messages) == [
        .hint("Authentication succeeded"), .problem("Authentication generated an error"),
      ])
  }

  @Test(arguments: [
    [UInt8]("right\0and more".utf8), [UInt8](repeating: UInt8(ascii: "x"), count: 512),
  ])
  func `an answer that PAM would truncate is not passed on`(answer: [UInt8]) async throws {
    // Truncated, it would be right.
    try services.addMatrix(
      password: answer.contains(0) ? "right" : String(repeating: "x", count: 511))
    let authenticator = services.authenticator("matrix", ScriptedPrompt(.bytes(answer)))
    let outcome = await Evaluation.of(authenticator)
    #expect(outcome.code == .failed)
    #expect(outcome.error?.reason.contains("511") == true)
  }

  @Test(arguments: [
    [], [UInt8]("ungültig".utf8), [0xFF, 0xFE], [UInt8](repeating: 120, count: 511),
  ])
  func `any other answer arrives unchanged, and is wrong`(answer: [UInt8]) async throws {
    try services.addMatrix()
    let authenticator = services.authenticator("matrix", ScriptedPrompt(.bytes(answer)))
    let outcome = await Evaluation.of(authenticator)
    #expect(outcome.error?.reason == "the system did not accept the answer")
  }

  @Test func `a password that is not ASCII is accepted`() async throws {
    try services.addMatrix(password: "pässwörd")
    let authenticator = services.authenticator("matrix", ScriptedPrompt(.text("pässwörd")))
    #expect(await Evaluation.of(authenticator) == .authenticated(.passcode))
  }

  @Test func `an error never shows what was typed`() async throws {
    let prompt = ScriptedPrompt(.text("hunter2"))
    let authenticator = services.authenticator(try services.addMatrix(), prompt)
    let error = try #require(await Evaluation.of(authenticator).error)
    var dumped = ""
    dump(error, to: &dumped)
    #expect(!dumped.contains("hunter2") && !"\(error)".contains("hunter2"))
  }

  @Test func `several questions at once are asked one after the other`() async throws {
    try await services.addAsking("two")
    let prompt = ScriptedPrompt(.text("one"), .text("two"))
    let outcome = await Evaluation.of(services.authenticator("asking", prompt))
    #expect(outcome == .authenticated(.passcode))
    #expect(prompt.questions.map(\.text) == ["First: ", "Second: "])
  }

  @Test(arguments: ["binary", "none"])
  func `a question that no person could answer is not asked, and fails`(what: String) async throws {
    try await services.addAsking(what)
    let prompt = ScriptedPrompt(.text("anything"))
    let outcome = await Evaluation.of(services.authenticator("asking", prompt))
    #expect(outcome.code == .failed)
    #expect(prompt.questions.isEmpty)
  }
}
