import Foundation
import LinuxAuthentication
import SessionAuthentication
import SessionToolsTestSupport
import Testing

/// Accounts that `pam_faillock` has locked.
@Suite struct LockoutTests {
  let services: PAMServices

  init() throws {
    services = try PAMServices()
    try services.addMatrix()
  }

  /// Adds a service that locks after two failures, for some seconds or, with 0, until an
  /// administrator unlocks.
  private func addFaillock(seconds: Int) throws {
    let options =
      "dir=\(services["tally"]) deny=2 unlock_time=\(seconds) even_deny_root "
      + "root_unlock_time=\(seconds)"
    let module = try PAMServices.module("pam_wrapper/pam_matrix.so")
    try Data("\(NSUserName()):right:faillock\n".utf8).write(to: URL(filePath: services["passdb"]))
    try services.add(
      "faillock", "auth requisite pam_faillock.so preauth \(options)",
      "auth [success=1 default=bad] \(module) passdb=\(services["passdb"])",
      "auth [default=die] pam_faillock.so authfail \(options)",
      "auth required pam_faillock.so authsucc \(options)", "account required pam_permit.so")
  }

  private func evaluate(_ answer: String) async -> Evaluation {
    await Evaluation.of(services.authenticator("faillock", ScriptedPrompt(.text(answer))))
  }

  @Test
  func `an account is locked after failures, even for the right password, and reports how long`()
    async throws
  {
    try addFaillock(seconds: 600)
    #expect(await evaluate("right") == .authenticated(.passcode))
    for _ in 1...2 {
      #expect(await evaluate("wrong").code == .failed)
    }
    let error = try #require(await evaluate("right").error)
    #expect(error.code == .lockout)
    let left = try #require(error.retryAfter)
    #expect(left > .zero && left <= .seconds(600) && left.components.seconds % 60 == 0)
  }

  @Test func `an account that is locked permanently does not report how long`() async throws {
    try addFaillock(seconds: 0)
    for _ in 1...2 {
      #expect(await evaluate("wrong").code == .failed)
    }
    let error = try #require(await evaluate("right").error)
    #expect(error.code == .lockout)
    #expect(error.retryAfter == nil)
  }

  @Test func `a lockout is recognized in the language of the program`() async throws {
    try addFaillock(seconds: 600)
    for _ in 1...2 {
      #expect(await evaluate("wrong").code == .failed)
    }
    try MessageCatalogue(
      texts: [
        .init(
          "The account is locked due to %u failed logins.", nil,
          translations: ["Das Konto ist gesperrt (%u Fehler)."]),
        .init(
          "(%d minute left to unlock)", "(%d minutes left to unlock)",
          translations: ["Noch %d Minute.", "In %d Minuten wieder."]),
      ]
    ).write(domain: "Linux-PAM", language: "xx", into: services["texts"])
    // A locale of the test's own: there is only C.UTF-8 on many machines, and since glibc 2.39 that
    // ignores LANGUAGE.
    try await Program.run(
      "/usr/bin/localedef", ["-i", "de_DE", "-f", "UTF-8", services["de_DE.UTF-8"]],
      environment: ["PATH": "/usr/bin:/bin"])
    try await services.compile("Translations/translations.c", to: "translations.so")
    let worker = try await AuthenticationWorker(
      ["pam", "faillock", services.path],
      environment: [
        "LC_ALL": "de_DE.UTF-8", "LOCPATH": services.path, "LANGUAGE": "xx",
        "TEXTS": services["texts"], "LD_PRELOAD": services["translations.so"],
      ])
    let lines = try await worker.lines(answering: "=right")
    #expect(lines.contains("hint Das Konto ist gesperrt (2 Fehler)."))
    let outcome = try #require(lines.last?.split(separator: " "))
    #expect(outcome.prefix(2) == ["error", "lockout"])
    let seconds = try #require(outcome.last.flatMap { Int($0) })
    #expect((60...600).contains(seconds))
  }
}
