import LinuxAuthentication
import SessionAuthentication

/// The checks of the ways to authenticate a person, and of the sources that report when to lock.
struct AuthenticationChecks {
  let service: String
  let action: String

  func all() async -> [Check] {
    var checks = [
      Check.ok(
        "passphrase",
        "opens any sealed store that has one; it and a security key protect the data")
    ]
    if let problem = SharedLibrary.pam.problem {
      checks.append(.note("password (PAM)", problem, remedy: SharedLibrary.pam.remedy))
    } else {
      let password = PAMAuthenticator(service: service, prompt: TerminalPrompt())
      checks.append(
        await check("password (PAM)", password, "the service \(service) asks for it"))
    }
    if let problem = SharedLibrary.gio.problem {
      return checks + [.note("message bus", problem, remedy: SharedLibrary.gio.remedy)]
    }
    return checks + [
      await check("system (polkit)", PolkitAuthenticator(action: action), "can ask for \(action)"),
      await check("fingerprint (fprintd)", FingerprintAuthenticator(), "a finger is enrolled"),
      await check("desktop and sleep (logind)") { () throws(AuthenticationError) in
        try await LogindSource().checkAvailability()
          ? "reports when to lock"
          : "reports sleep, but no locks: this process is not part of a session"
      },
      await check("screen saver") { () throws(AuthenticationError) in
        try await ScreenSaverSource().checkAvailability()
        return "reports when to lock"
      },
    ]
  }

  private func check(
    _ name: String, _ authenticator: some UserAuthenticator, _ finding: String
  ) async -> Check {
    await check(name) { () throws(AuthenticationError) in
      try await authenticator.checkAvailability()
      return finding
    }
  }

  private func check(
    _ name: String, _ finding: () async throws(AuthenticationError) -> String
  ) async -> Check {
    do throws(AuthenticationError) {
      return .ok(name, try await finding())
    } catch {
      return .note(name, error.reason, remedy: error.remedy)
    }
  }
}
