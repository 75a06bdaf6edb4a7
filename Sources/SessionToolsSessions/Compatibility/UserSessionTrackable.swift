/// A type that is notified when a user signs in, signs out or changes.
public protocol UserSessionTrackable {
  /// The type of a user.
  associatedtype UserType

  /// The user who is signed in, if any.
  var currentUser: UserType? { get }
  /// Whether a user is signed in.
  var isLoggedIn: Bool { get }

  /// Records that a user signed in.
  ///
  /// - Throws: The error that kept this from being stored.
  func userDidLogIn(_ user: UserType) throws
  /// Records that the user signed out.
  ///
  /// - Parameter error: The error that caused it, if any.
  /// - Throws: The error that kept this from being stored.
  func userDidLogOut(logoutError error: (any Error)?) throws
  /// Records that the user changed.
  ///
  /// - Throws: The error that kept this from being stored.
  func userDidUpdate(_ user: UserType) throws
}

/// Shorter names for the same operations.
extension UserSessionTrackable {
  /// Records that a user signed in: ``userDidLogIn(_:)``.
  ///
  /// - Throws: As ``userDidLogIn(_:)``.
  public func didLogIn(_ user: UserType) throws {
    try userDidLogIn(user)
  }

  /// Records that the user signed out: ``userDidLogOut(logoutError:)``.
  ///
  /// - Parameter error: The error that caused it, if any.
  /// - Throws: As ``userDidLogOut(logoutError:)``.
  public func didLogOut(_ error: (any Error)? = nil) throws {
    try userDidLogOut(logoutError: error)
  }

  /// Records that the user changed: ``userDidUpdate(_:)``.
  ///
  /// - Throws: As ``userDidUpdate(_:)``.
  public func didUpdate(_ user: UserType) throws {
    try userDidUpdate(user)
  }
}
