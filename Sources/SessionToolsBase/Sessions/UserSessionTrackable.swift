/// Something that is told who the user is.
public protocol UserSessionTrackable {
  /// What is kept of a user.
  associatedtype UserType

  /// The user who is signed in, if any.
  var currentUser: UserType? { get }
  /// Whether a user is signed in.
  var isLoggedIn: Bool { get }

  /// A user signed in.
  ///
  /// - Throws: What kept this from being stored.
  func userDidLogIn(_ user: UserType) throws
  /// The user signed out.
  ///
  /// - Parameter error: The reason, when an error is it.
  /// - Throws: What kept this from being stored.
  func userDidLogOut(logoutError error: (any Error)?) throws
  /// What is known of the user changed.
  ///
  /// - Throws: What kept this from being stored.
  func userDidUpdate(_ user: UserType) throws
}

/// The shorter spellings, the same in all else.
extension UserSessionTrackable {
  /// A user signed in: ``userDidLogIn(_:)``.
  ///
  /// - Throws: As ``userDidLogIn(_:)``.
  public func didLogIn(_ user: UserType) throws {
    try userDidLogIn(user)
  }

  /// The user signed out: ``userDidLogOut(logoutError:)``.
  ///
  /// - Parameter error: The reason, when an error is it.
  /// - Throws: As ``userDidLogOut(logoutError:)``.
  public func didLogOut(_ error: (any Error)? = nil) throws {
    try userDidLogOut(logoutError: error)
  }

  /// What is known of the user changed: ``userDidUpdate(_:)``.
  ///
  /// - Throws: As ``userDidUpdate(_:)``.
  public func didUpdate(_ user: UserType) throws {
    try userDidUpdate(user)
  }
}
