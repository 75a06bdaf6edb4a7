/// What happened to a ``UserSession``.
public enum UserSessionStateChange: Sendable {
  /// A user signed in.
  case loggedIn
  /// The user signed out; because of the error, if there is one.
  case loggedOut((any Error)?)
  /// What is stored of the user changed.
  case updated
}

/// Names used in the notifications of a ``UserSession``.
public struct UserSessionConstants: Sendable {
  /// Where the ``UserSessionStateChange`` is in the notification's `userInfo`.
  public static let userSessionStateInfoKey = "userSessionStateInfoKey"
  /// Where the session's storage identifier is.
  public static let sessionIdentifierInfoKey = "sessionIdentifierInfoKey"
  /// Where the user's `id` is, when users are `Identifiable`.
  public static let userIdentifierInfoKey = "userIdentifierInfoKey"
}
