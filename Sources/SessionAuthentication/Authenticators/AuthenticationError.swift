import SessionToolsBase

/// The reason why a person was not authenticated; the kinds differ in what to do next.
///
/// The codes are those of `LAError` and some for Linux. The text never contains what a person
/// typed.
public struct AuthenticationError: Error, Sendable {
  /// The kind of failure.
  public let code: Code
  /// What happened: one sentence without its full stop.
  public let reason: String
  /// What to do about it: one sentence without its full stop, if there is something to do.
  public let remedy: String?
  /// When to try again after a lockout, if that is known.
  public let retryAfter: Duration?
  /// The underlying error, if there is one.
  ///
  /// For programs; it is not part of the description, because it may quote its input.
  public let underlying: (any Error)?

  /// Makes an error; authenticators outside this package can use it too.
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

extension AuthenticationError.Code {
  /// The person, or the password, was not the right one: `LAError.authenticationFailed`.
  public static let failed = AuthenticationError.Code("failed")
  /// The person refused.
  public static let userCancel = AuthenticationError.Code("userCancel")
  /// The person wants to authenticate in another way.
  public static let userFallback = AuthenticationError.Code("userFallback")
  /// The program cancelled the authentication: the task was cancelled, the scene was removed, or
  /// the gate was invalidated.
  public static let appCancel = AuthenticationError.Code("appCancel")
  /// The system cancelled the authentication: the desktop was locked, or the machine is going to
  /// sleep.
  public static let systemCancel = AuthenticationError.Code("systemCancel")
  /// The service or the device disappeared during the authentication: try again.
  public static let serviceLost = AuthenticationError.Code("serviceLost")
  /// The authentication exceeded its time limit.
  public static let timedOut = AuthenticationError.Code("timedOut")
  /// The account has no password.
  public static let passcodeNotSet = AuthenticationError.Code("passcodeNotSet")
  /// There is no device or no service for it.
  public static let biometryNotAvailable = AuthenticationError.Code("biometryNotAvailable")
  /// No one is enrolled on the device yet.
  public static let biometryNotEnrolled = AuthenticationError.Code("biometryNotEnrolled")
  /// There were too many failures; ``AuthenticationError/retryAfter`` may have the end of the
  /// lockout.
  public static let lockout = AuthenticationError.Code("lockout")
  /// The person cannot be asked: there is no agent of the desktop and no terminal.
  public static let notInteractive = AuthenticationError.Code("notInteractive")
  /// This program may not ask in this environment.
  public static let notPermitted = AuthenticationError.Code("notPermitted")
  /// The password is right, but the account cannot be used: it, or the password, has expired.
  public static let accountUnusable = AuthenticationError.Code("accountUnusable")
  /// Another evaluation is under way.
  public static let busy = AuthenticationError.Code("busy")
  /// Something that the administrator or the program's installation must provide is missing.
  public static let misconfigured = AuthenticationError.Code("misconfigured")
  /// The resulting token is not valid.
  public static let invalidToken = AuthenticationError.Code("invalidToken")
  /// The person was authenticated, but a resource could not be unlocked then.
  public static let unlockFailed = AuthenticationError.Code("unlockFailed")
}

/// The codes, for `catch` clauses such as `catch AuthenticationError.failed`.
extension AuthenticationError {
  /// The code ``Code/failed``.
  public static let failed = Code.failed
  /// The code ``Code/userCancel``.
  public static let userCancel = Code.userCancel
  /// The code ``Code/userFallback``.
  public static let userFallback = Code.userFallback
  /// The code ``Code/appCancel``.
  public static let appCancel = Code.appCancel
  /// The code ``Code/systemCancel``.
  public static let systemCancel = Code.systemCancel
  /// The code ``Code/serviceLost``.
  public static let serviceLost = Code.serviceLost
  /// The code ``Code/timedOut``.
  public static let timedOut = Code.timedOut
  /// The code ``Code/passcodeNotSet``.
  public static let passcodeNotSet = Code.passcodeNotSet
  /// The code ``Code/biometryNotAvailable``.
  public static let biometryNotAvailable = Code.biometryNotAvailable
  /// The code ``Code/biometryNotEnrolled``.
  public static let biometryNotEnrolled = Code.biometryNotEnrolled
  /// The code ``Code/lockout``.
  public static let lockout = Code.lockout
  /// The code ``Code/notInteractive``.
  public static let notInteractive = Code.notInteractive
  /// The code ``Code/notPermitted``.
  public static let notPermitted = Code.notPermitted
  /// The code ``Code/accountUnusable``.
  public static let accountUnusable = Code.accountUnusable
  /// The code ``Code/busy``.
  public static let busy = Code.busy
  /// The code ``Code/misconfigured``.
  public static let misconfigured = Code.misconfigured
  /// The code ``Code/invalidToken``.
  public static let invalidToken = Code.invalidToken
  /// The code ``Code/unlockFailed``.
  public static let unlockFailed = Code.unlockFailed
}

extension AuthenticationError.Code {
  /// Lets `catch AuthenticationError.userCancel` match an error by its code.
  public static func ~= (code: AuthenticationError.Code, error: any Error) -> Bool {
    (error as? AuthenticationError)?.code == code
  }
}

extension AuthenticationError: CustomStringConvertible {
  /// What happened and what to do.
  public var description: String {
    let seconds = retryAfter?.wholeSeconds
    return reason + "." + (remedy.map { " \($0)." } ?? "")
      + (seconds.map { " Try again in \($0) s." } ?? "")
  }
}

extension AuthenticationError {
  /// An error for a cancelled task.
  package static var cancelledByApp: AuthenticationError {
    AuthenticationError(.appCancel, "the program cancelled the authentication")
  }

  package static var cancelledByPerson: AuthenticationError {
    AuthenticationError(.userCancel, "the person dismissed the question")
  }

  package static var personWantsAnotherWay: AuthenticationError {
    AuthenticationError(.userFallback, "the person wants to authenticate in another way")
  }
}

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
