import LinuxAuthentication
import SessionAuthentication

/// What can authenticate a person here, and what tells when to lock.
struct AuthenticationChecks {
  /// How long a source of events may take to say that it cannot be listened to.
  private static let patience = Duration.seconds(3)

  let service: String
  let action: String

  func all() async -> [Check] {
    let password = PAMAuthenticator(service: service, prompt: TerminalPrompt())
    return [
      .ok("passphrase", "opens any sealed store that has one, and is the only way that protects"),
      await check("password (PAM)", password, "the service \(service) asks for it"),
      await check("system (polkit)", PolkitAuthenticator(action: action), "can ask for \(action)"),
      await check("fingerprint (fprintd)", FingerprintAuthenticator(), "a finger is enrolled"),
      await check("desktop and sleep (logind)", LogindSource(program: "session-tools")),
      await check("screen saver", ScreenSaverSource()),
    ]
  }

  private func check(
    _ name: String, _ authenticator: some Authenticator, _ finding: String
  ) async -> Check {
    switch await authenticator.availability() {
    case .available: .ok(name, finding)
    case .unavailable(let error): .note(name, error.reason, remedy: error.remedy)
    }
  }

  private func check(_ name: String, _ source: some LifecycleSource) async -> Check {
    let error = await withTaskGroup(of: AuthenticationError?.self) { group in
      group.addTask {
        do throws(AuthenticationError) {
          try await source.run { _ in }
          return nil
        } catch {
          return error
        }
      }
      group.addTask {
        try? await Task.sleep(for: Self.patience)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    guard let error else { return .ok(name, "tells when to lock") }
    return .note(name, error.reason, remedy: error.remedy)
  }
}
