/// Why no user is signed in.
public enum SignOutReason: Sendable {
  /// The reason is not known in this process: no user has signed in yet, or the user was signed out
  /// by another process or before this one started.
  case unknown
  /// The user signed out, or was signed out, because of the error if there is one.
  case loggedOut((any Error)?)
  /// The server permanently rejected the session's refresh.
  case rejected(any Error)
}
