import SessionAuthentication

/// Converts libpam's errors.
extension PAMFailure {
  /// The stage of the transaction at which the error occurred.
  enum Stage {
    case start, authentication, account
  }

  /// Returns the error to throw.
  func error(in stage: Stage, _ lockout: LockoutMessage) -> AuthenticationError {
    if lockout.isLocked {
      return AuthenticationError(
        .lockout, "the account is locked after too many failures",
        retryAfter: lockout.remaining)
    }
    switch (stage, status) {
    // In these cases the password itself was accepted.
    case (.account, .authenticationError), (.account, .userUnknown),
      (_, .newTokenRequired), (_, .accountExpired), (_, .tokenExpired):
      return AuthenticationError(
        .accountUnusable, "the account cannot be used: \(said)",
        remedy: status == .accountExpired ? nil : "Log in again, or set a new password")
    // The two are not distinguished, because that would reveal which accounts exist.
    case (_, .authenticationError), (_, .userUnknown):
      return AuthenticationError(
        .failed, "the system did not accept the answer")
    case (_, .maximumTries):
      return AuthenticationError(
        .lockout, "there were too many failures: \(said)")
    case (_, .permissionDenied):
      return AuthenticationError(
        .notPermitted, "the system's rules do not allow it: \(said)",
        remedy: "Ask the administrator, or check the system's log")
    case (_, .insufficientCredentials), (_, .informationUnavailable):
      return AuthenticationError(
        .notPermitted,
        "this program cannot reach the password database: \(said)",
        remedy: "Run it as the user who is asked, without NoNewPrivileges and outside of a sandbox")
    case (_, .openError), (_, .symbolError), (_, .serviceError), (_, .abort), (_, .moduleUnknown),
      (_, .ignore):
      return AuthenticationError(
        .misconfigured, "PAM cannot apply the service's file: \(said)",
        remedy: "Check the system's log for a missing or misconfigured module")
    case (_, .systemError), (_, .bufferError), (_, .lockBusy), (_, .tryAgain):
      return AuthenticationError(
        .serviceLost, "the system could not complete the check: \(said)",
        remedy: "Try again")
    default:
      return AuthenticationError(
        .failed, "the system did not authenticate the person: \(said)")
    }
  }

  private var said: String { "\(text) (\(status.rawValue))" }
}
