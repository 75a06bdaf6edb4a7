/// The errors of the gate itself.
extension AuthenticationError {
  static var sceneLost: AuthenticationError {
    AuthenticationError(.appCancel, "the scene does not exist, or was removed")
  }

  static var takenBackBySystem: AuthenticationError {
    AuthenticationError(.systemCancel, "the desktop was locked, or the machine is going to sleep")
  }

  static var tooManyWait: AuthenticationError {
    AuthenticationError(.busy, "too many calls are already waiting for authentication")
  }

  static var lockedAgain: AuthenticationError {
    AuthenticationError(.systemCancel, "the gate locked again at once", remedy: "Try again")
  }

  /// Converts an evaluation's error.
  init(of error: any Error) {
    switch error {
    case let error as AuthenticationError: self = error
    case is CancellationError: self = .cancelledByApp
    default: self.init(Self.failed, "the authentication failed", underlying: error)
    }
  }
}
