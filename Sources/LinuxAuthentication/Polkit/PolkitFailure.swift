import SessionToolsDBus
import SessionAuthentication

/// The conversion of polkit's errors.
enum PolkitFailure {
  /// Converts an error.
  ///
  /// - Parameters:
  ///   - error: The error of polkit or the bus.
  ///   - isReached: Whether polkit was reached before, so that it must have gone away.
  /// - Returns: The error.
  static func error(_ error: DBusError, isReached: Bool) -> AuthenticationError {
    switch error.kind {
    case .timedOut:
      return AuthenticationError(
        .timedOut, "the person did not answer in time")
    case .cancelled:
      return .cancelledByApp
    // If polkit was never reached, nothing went away that might soon return: a system without
    // polkit, or a container without the system's bus, lacks an installation.
    case .disconnected where !isReached:
      return AuthenticationError(
        .misconfigured,
        "there is no system bus to reach polkit on: \(error.message)",
        remedy: "Run the program where the system's bus can be reached", underlying: error)
    case .remote where !isReached && error.saysNoProvider:
      return AuthenticationError(
        .misconfigured, "there is no polkit on this machine",
        remedy: "Install polkitd, or authenticate by PAM", underlying: error)
    case .remote("org.freedesktop.PolicyKit1.Error.NotAuthorized"),
      .remote("org.freedesktop.DBus.Error.AccessDenied"):
      return AuthenticationError(
        .notPermitted, "this program may not ask polkit: \(error.message)",
        underlying: error)
    case .remote, .disconnected:
      return AuthenticationError(
        .serviceLost, "polkit could not decide: \(error.message)",
        remedy: "Try again", underlying: error)
    }
  }

  static func notRegistered(_ action: String) -> AuthenticationError {
    let path = PolkitAuthenticator.Policy(action: action, message: "").path
    return AuthenticationError(
      .misconfigured, "polkit does not know the action \(action)",
      remedy: "Install \(path), whose content PolkitAuthenticator.Policy gives")
  }

  static func notAnAction(_ action: String) -> AuthenticationError {
    AuthenticationError(
      .misconfigured, "\"\(action)\" cannot be the name of a polkit action",
      remedy: "Use letters, digits, hyphens and periods")
  }

  static var notPermitted: AuthenticationError {
    AuthenticationError(
      .notPermitted, "the system's rules do not allow this user to do it here")
  }
}
