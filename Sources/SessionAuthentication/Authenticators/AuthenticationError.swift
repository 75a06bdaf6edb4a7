import SessionToolsBase

/// Why a person was not authenticated, told apart by what to do next.
///
/// The codes are those that `LAError` has, and what Linux adds. The text never shows what a person
/// typed.
public struct AuthenticationError: Error, Sendable {
  /// The kind of failure.
  public let code: Code
  /// What happened, one sentence without its full stop.
  public let reason: String
  /// What to do about it, one sentence without its full stop, when there is something to do.
  public let remedy: String?
  /// When to try again, if that is known; of a lockout.
  public let retryAfter: Duration?
  /// The error behind it, if there is one.
  ///
  /// For programs to look at; not part of the description, because it may quote what it was given.
  public let underlying: (any Error)?

  /// Makes an error; authenticators outside this package use it as ours do.
  public init(
    _ code: Code, _ reason: String, remedy: String? = nil, retryAfter: Duration? = nil,
    underlying: (any Error)? = nil
  ) {
    self.code = code
    self.reason = reason
    self.remedy = remedy
    self.retryAfter = retryAfter
    self.underlying = underlying
  }

  /// A kind of failure; later versions may add kinds, so a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String

    fileprivate init(_ name: String) {
      description = name
    }
  }
}

extension AuthenticationError {
  /// It was not the person, or not the right password: `LAError.authenticationFailed`.
  public static let failed = Code("failed")
  /// The person did not want to.
  public static let userCancel = Code("userCancel")
  /// The person wants to authenticate in another way.
  public static let userFallback = Code("userFallback")
  /// The program took it back: the task was cancelled, the scene went away, or the gate was
  /// invalidated.
  public static let appCancel = Code("appCancel")
  /// The system took it back: the desktop was locked, or the machine goes to sleep.
  public static let systemCancel = Code("systemCancel")
  /// The service or the device that was asked went away meanwhile: try again.
  public static let serviceLost = Code("serviceLost")
  /// It took longer than it may.
  public static let timedOut = Code("timedOut")
  /// The account has no password.
  public static let passcodeNotSet = Code("passcodeNotSet")
  /// There is no device for it, or no service.
  public static let biometryNotAvailable = Code("biometryNotAvailable")
  /// The device knows nobody yet.
  public static let biometryNotEnrolled = Code("biometryNotEnrolled")
  /// There were too many failures; ``AuthenticationError/retryAfter`` may say when it is over.
  public static let lockout = Code("lockout")
  /// There is nobody who could ask the person: no agent of the desktop, no terminal.
  public static let notInteractive = Code("notInteractive")
  /// This program, here, may not ask.
  public static let notPermitted = Code("notPermitted")
  /// The password is right, and the account cannot be used: it has expired, or the password has.
  public static let accountUnusable = Code("accountUnusable")
  /// Another evaluation is under way.
  public static let busy = Code("busy")
  /// What the administrator or the installation of the program has to provide is missing.
  public static let misconfigured = Code("misconfigured")
  /// The token that came of it does not count.
  public static let invalidToken = Code("invalidToken")
  /// The person was authenticated, and what was to be opened then could not be.
  public static let unlockFailed = Code("unlockFailed")
}

extension AuthenticationError.Code {
  /// Lets `catch AuthenticationError.userCancel` match an error by its code.
  public static func ~= (code: AuthenticationError.Code, error: any Error) -> Bool {
    (error as? AuthenticationError)?.code == code
  }
}

extension AuthenticationError: CustomStringConvertible {
  /// What happened, and what to do.
  public var description: String {
    let seconds = retryAfter?.wholeSeconds
    return reason + "." + (remedy.map { " \($0)." } ?? "")
      + (seconds.map { " Try again in \($0) s." } ?? "")
  }
}

extension AuthenticationError {
  /// For a task that was cancelled.
  package static var cancelledByApp: AuthenticationError {
    AuthenticationError(appCancel, "the program took the question back")
  }

  package static var cancelledByPerson: AuthenticationError {
    AuthenticationError(userCancel, "the person dismissed the question")
  }

  package static var personWantsAnotherWay: AuthenticationError {
    AuthenticationError(userFallback, "the person wants to authenticate in another way")
  }
}
