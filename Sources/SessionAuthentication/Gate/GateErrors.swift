/// What the gate itself says.
extension AuthenticationError {
  static var sceneLost: AuthenticationError {
    AuthenticationError(appCancel, "the scene is not there, or went away")
  }

  static var takenBackBySystem: AuthenticationError {
    AuthenticationError(systemCancel, "the desktop was locked, or the machine goes to sleep")
  }

  static var tooManyWait: AuthenticationError {
    AuthenticationError(busy, "too much waits for authentication already")
  }

  static var lockedAgain: AuthenticationError {
    AuthenticationError(systemCancel, "the gate was locked again at once", remedy: "Try again")
  }

  /// What an evaluation threw.
  init(of error: any Error) {
    switch error {
    case let error as AuthenticationError: self = error
    case is CancellationError: self = .cancelledByApp
    default: self.init(Self.failed, "the authentication did not work", underlying: error)
    }
  }
}
