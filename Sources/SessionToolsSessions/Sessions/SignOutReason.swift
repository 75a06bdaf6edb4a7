/// Why no user is signed in.
///
/// The cause is the error itself in a ``SessionState``, and a text without secrets in a
/// ``SessionEvent``.
public enum SignOutReason<Cause> {
  /// The reason is not known in this process: no user has signed in yet, or the user was signed out
  /// by another process or before this one started.
  ///
  /// In an account (``UserAccounts``), a rejection by the server is known in every process.
  ///
  /// No event has this reason.
  case unknown
  /// The program signed the user out, because of this if there is a cause.
  case requested(Cause?)
  /// The server permanently rejected the session's refresh.
  case rejected(Cause)
}

extension SignOutReason {
  var isRejection: Bool { if case .rejected = self { true } else { false } }
}

extension SignOutReason: Sendable where Cause: Sendable {}
extension SignOutReason: Equatable where Cause: Equatable {}
extension SignOutReason: Hashable where Cause: Hashable {}

extension SignOutReason: CustomStringConvertible {
  /// Why the user was signed out, for a person.
  ///
  /// Of a cause that is an error of another library, which may quote a secret, only the type is in
  /// it.
  public var description: String {
    switch self {
    case .unknown, .requested(nil): "the user was signed out"
    case .requested(let cause?):
      "the user was signed out because of an error: \(Self.text(of: cause))"
    case .rejected(let cause): "the user was signed out by the server: \(Self.text(of: cause))"
    }
  }

  private static func text(of cause: Cause) -> String {
    switch cause {
    // The causes of events are texts without secrets.
    case let text as String: text
    case let error as any Error: SessionEvent.reason(error)
    default: "\(Cause.self)"
    }
  }
}
