import SessionAuthentication

/// What libpam's answers mean to whoever asked.
extension PAMFailure {
  /// When it was said.
  enum Stage {
    case start, authentication, account
  }

  /// What to throw.
  func error(in stage: Stage, _ notice: LockoutNotice) -> AuthenticationError {
    if notice.isLocked {
      return AuthenticationError(
        AuthenticationError.lockout, "the account is locked after too many failures",
        retryAfter: notice.remaining)
    }
    switch (stage, status) {
    // The password was right then.
    case (.account, .authenticationError), (.account, .userUnknown),
      (_, .newTokenRequired), (_, .accountExpired), (_, .tokenExpired):
      return AuthenticationError(
        AuthenticationError.accountUnusable, "the account cannot be used: \(said)",
        remedy: status == .accountExpired ? nil : "Log in anew, or set a new password")
    // Which of both is not told: it would say which accounts there are.
    case (_, .authenticationError), (_, .userUnknown):
      return AuthenticationError(
        AuthenticationError.failed, "the system did not accept the answer")
    case (_, .maximumTries):
      return AuthenticationError(
        AuthenticationError.lockout, "there were too many failures: \(said)")
    case (_, .permissionDenied):
      return AuthenticationError(
        AuthenticationError.notPermitted, "the system's rules do not allow it: \(said)",
        remedy: "Ask the administrator, or look into the system's log")
    case (_, .insufficientCredentials), (_, .informationUnavailable):
      return AuthenticationError(
        AuthenticationError.notPermitted,
        "this program cannot reach the password database: \(said)",
        remedy: "Run it as the user who is asked, without NoNewPrivileges and outside of a sandbox")
    case (_, .openError), (_, .symbolError), (_, .serviceError), (_, .abort), (_, .moduleUnknown),
      (_, .ignore):
      return AuthenticationError(
        AuthenticationError.misconfigured, "PAM cannot do what the service's file says: \(said)",
        remedy: "Look into the system's log for the module that is missing or set up wrongly")
    case (_, .systemError), (_, .bufferError), (_, .lockBusy), (_, .tryAgain):
      return AuthenticationError(
        AuthenticationError.serviceLost, "the system could not find out: \(said)",
        remedy: "Try again")
    default:
      return AuthenticationError(
        AuthenticationError.failed, "the system did not authenticate anyone: \(said)")
    }
  }

  private var said: String { "\(text) (\(status.rawValue))" }
}
