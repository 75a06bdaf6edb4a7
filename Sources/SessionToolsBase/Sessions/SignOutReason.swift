/// Why nobody is signed in.
public enum SignOutReason: Sendable {
  /// Nobody in this process knows: nobody has signed in yet, or another process signed the user
  /// out, or it was before this one started.
  case unknown
  /// The user signed out, or was, because of the error if there is one.
  case loggedOut((any Error)?)
  /// The server rejected what the session is refreshed with.
  case rejected(any Error)
}
