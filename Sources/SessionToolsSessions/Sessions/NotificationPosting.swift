import SecretStores
public import Foundation

/// Something that posts notifications; `NotificationCenter` is one.
///
/// It is Sendable, because a session may be used from any thread and posts on the calling one. The
/// requirement was added later (`@preconcurrency`): types written for Swift 5 conform unchanged.
@preconcurrency
public protocol NotificationPosting: Sendable {
  /// Posts a notification.
  func post(
    name aName: NSNotification.Name, object anObject: Any?, userInfo aUserInfo: [AnyHashable: Any]?)
}

extension NotificationCenter: NotificationPosting {}

extension Notification.Name {
  /// A user signed in to or out of a ``UserSession``, or its user changed.
  ///
  /// The notification's object is the session, and `Notification.userSessionState` says what
  /// happened.
  public static let userSessionStateDidChange = Notification.Name("userSessionStateDidChange")
}

extension Notification {
  /// The change of the session's state; `nil` for other notifications.
  public var userSessionState: UserSessionStateChange? {
    userInfo?[UserSessionConstants.userSessionStateInfoKey] as? UserSessionStateChange
  }

  /// The storage identifier of the changed session; `nil` for other notifications.
  public var userSessionIdentifier: String? {
    userInfo?[UserSessionConstants.sessionIdentifierInfoKey] as? String
  }

  /// The `id` of the user concerned, including one who was signed out.
  ///
  /// `nil` when users are not `Identifiable`, or this one could not be read.
  public var userSessionUserIdentifier: AnyHashable? {
    userInfo?[UserSessionConstants.userIdentifierInfoKey] as? AnyHashable
  }
}

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
