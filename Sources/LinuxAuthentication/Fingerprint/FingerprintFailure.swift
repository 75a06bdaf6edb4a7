import SessionToolsDBus
import SessionAuthentication

/// The conversion of fprintd's errors.
enum FingerprintFailure {
  static let noEnrolledPrints = "\(prefix)NoEnrolledPrints"
  private static let prefix = "net.reactivated.Fprint.Error."

  /// Converts an error.
  ///
  /// - Parameters:
  ///   - error: The error of fprintd or the bus.
  ///   - isClaimed: Whether the reader was reached before, so that it must have gone away.
  /// - Returns: The error.
  static func error(_ error: DBusError, isClaimed: Bool) -> AuthenticationError {
    switch error.kind {
    case .timedOut:
      return timedOut
    case .cancelled:
      return .cancelledByApp
    case .disconnected where !isClaimed:
      return AuthenticationError(
        .biometryNotAvailable,
        "there is no system bus to reach a fingerprint reader on: \(error.message)",
        underlying: error)
    case .remote where !isClaimed && error.saysNoProvider:
      return AuthenticationError(
        .biometryNotAvailable, "there is no service for fingerprint readers",
        remedy: "Install fprintd", underlying: error)
    case .remote("\(prefix)NoSuchDevice") where !isClaimed:
      return AuthenticationError(
        .biometryNotAvailable, "there is no fingerprint reader",
        remedy: "Connect one that fprintd supports", underlying: error)
    case .remote(noEnrolledPrints):
      return AuthenticationError(
        .biometryNotEnrolled, "no finger is enrolled",
        remedy: "Enroll one with fprintd-enroll, or in the desktop's settings",
        underlying: error)
    case .remote("\(prefix)PermissionDenied"):
      return AuthenticationError(
        .notPermitted, "the reader may not be used from here",
        remedy: "Use it from an active session at the machine itself, not over a network",
        underlying: error)
    case .remote("\(prefix)AlreadyInUse"):
      return AuthenticationError(
        .busy, "the fingerprint reader is in use", underlying: error)
    case .remote, .disconnected:
      return AuthenticationError(
        .serviceLost, "the fingerprint reader is gone: \(error.message)",
        remedy: "Try again", underlying: error)
    }
  }

  static var timedOut: AuthenticationError {
    AuthenticationError(.timedOut, "no finger was presented in time")
  }

  static var serviceLost: AuthenticationError {
    AuthenticationError(
      .serviceLost, "the service for fingerprint readers ended",
      remedy: "Try again")
  }
}
