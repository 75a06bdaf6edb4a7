/// A change of a ``UserSession``.
public enum UserSessionStateChange: Sendable {
  /// A user signed in.
  case loggedIn
  /// The user signed out, because of the error if there is one.
  case loggedOut((any Error)?)
  /// The stored user changed.
  case updated
}

/// Names used in the notifications of a ``UserSession``.
public struct UserSessionConstants: Sendable {
  /// The key of the ``UserSessionStateChange`` in the notification's `userInfo`.
  public static let userSessionStateInfoKey = "userSessionStateInfoKey"
  /// The key of the session's storage identifier.
  public static let sessionIdentifierInfoKey = "sessionIdentifierInfoKey"
  /// The key of the user's `id`, when users are `Identifiable`.
  public static let userIdentifierInfoKey = "userIdentifierInfoKey"
}
