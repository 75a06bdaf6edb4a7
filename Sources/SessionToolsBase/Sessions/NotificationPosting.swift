public import Foundation

/// Something that posts notifications; `NotificationCenter` is one.
///
/// Sendable, because a session may be used from any thread and posts on the one it was called
/// on. The requirement is younger than the protocol (`@preconcurrency`): types written for
/// Swift 5 conform as they are.
@preconcurrency
public protocol NotificationPosting: Sendable {
  /// Posts a notification.
  func post(
    name aName: NSNotification.Name, object anObject: Any?, userInfo aUserInfo: [AnyHashable: Any]?)
}

extension NotificationCenter: NotificationPosting {}

extension Notification.Name {
  /// Someone signed in to or out of a ``UserSession``, or its user changed.
  ///
  /// The notification's object is the session, and `Notification.userSessionState`
  /// tells what happened.
  public static let userSessionStateDidChange = Notification.Name("userSessionStateDidChange")
}

extension Notification {
  /// What happened to the session; `nil` for other notifications.
  public var userSessionState: UserSessionStateChange? {
    userInfo?[UserSessionConstants.userSessionStateInfoKey] as? UserSessionStateChange
  }

  /// The storage identifier of the session that it happened to; `nil` for other notifications.
  public var userSessionIdentifier: String? {
    userInfo?[UserSessionConstants.sessionIdentifierInfoKey] as? String
  }

  /// The `id` of the user whom it is about: of one who was signed out, too.
  ///
  /// `nil` when users are not `Identifiable`, or this one could not be read.
  public var userSessionUserIdentifier: AnyHashable? {
    userInfo?[UserSessionConstants.userIdentifierInfoKey] as? AnyHashable
  }
}
