public import Foundation
import Synchronization

/// The session of a user who signs in and out.
///
/// ```swift
/// let session = UserSession<User>(
///   container: container, storageIdentifier: "user",
///   notificationPoster: NotificationCenter.default)
/// try session.didLogIn(user)
/// ```
///
/// Each change is announced as `Notification.Name.userSessionStateDidChange` with
/// the session as its object, on the calling thread, after the change is stored and as durable
/// as the container makes it. A change that failed is not announced. Changes made at the same
/// time by several threads are each announced, in any order; ask the session how it stands.
///
/// Unchecked for the reason ``Session`` gives; the one variable is behind a mutex.
open class UserSession<T: Codable>: Session<T>, UserSessionTrackable, Refreshable,
  @unchecked Sendable
{
  private let handler: Mutex<HeldHandler?>

  /// Makes a user's session; reads nothing.
  ///
  /// - Parameters:
  ///   - container: Where the user is kept.
  ///   - storageIdentifier: The user's name in the container.
  ///   - notificationPoster: Who announces changes, such as `NotificationCenter.default`.
  ///   - refreshHandler: What ``refresh(completion:)`` does.
  ///   - itemEncoder: What the user is encoded with, where the container keeps JSON.
  ///   - itemDecoder: What the user is decoded with, where the container keeps JSON.
  public init(
    container: AnySessionContainer<T>, storageIdentifier: String,
    notificationPoster: (any NotificationPosting)?, refreshHandler: RefreshHandler? = nil,
    itemEncoder: JSONEncoder = JSONEncoder(), itemDecoder: JSONDecoder = JSONDecoder()
  ) {
    handler = Mutex(refreshHandler.map(HeldHandler.init))
    super.init(
      container: container, storageIdentifier: storageIdentifier,
      notificationPoster: notificationPoster, itemEncoder: itemEncoder, itemDecoder: itemDecoder)
  }

  /// Makes a user's session of any container; reads nothing.
  public convenience init<Container: SessionContainer>(
    container: Container, storageIdentifier: String,
    notificationPoster: (any NotificationPosting)?, refreshHandler: RefreshHandler? = nil,
    itemEncoder: JSONEncoder = JSONEncoder(), itemDecoder: JSONDecoder = JSONDecoder()
  ) where Container.Item == T {
    self.init(
      container: AnySessionContainer(container), storageIdentifier: storageIdentifier,
      notificationPoster: notificationPoster, refreshHandler: refreshHandler,
      itemEncoder: itemEncoder, itemDecoder: itemDecoder)
  }

  // MARK: - The user

  /// The user; `nil` when nobody is signed in, and also when the user cannot be read.
  ///
  /// Ask ``Session/state`` where the difference matters.
  open var currentUser: T? { currentItem }

  /// Whether a user is signed in; `false` also when the container cannot tell.
  ///
  /// Ask ``Session/state`` where the difference matters.
  open var isLoggedIn: Bool { hasItem }

  /// Stores the user who signed in and announces `loggedIn`.
  ///
  /// Where users are `Identifiable` and another one was signed in, `loggedOut(nil)` is
  /// announced first.
  ///
  /// - Throws: What kept the user from being stored; nothing is announced then.
  open func userDidLogIn(_ user: T) throws {
    // A user who cannot be read can be replaced; a store that cannot be read fails below.
    let previous = Self.hasIdentity ? (try? item()) ?? nil : nil
    let isReplacement = Self.isAnother(user, than: previous)
    try updateItem(user)
    announceLogIn(isReplacement: isReplacement)
  }

  /// Removes the user and announces `loggedOut`.
  ///
  /// - Parameter error: The reason, when an error is it.
  /// - Throws: What kept the user from being removed; nothing is announced then.
  open func userDidLogOut(logoutError error: (any Error)?) throws {
    try deleteItem()
    announce(.loggedOut(error))
  }

  /// Stores what changed of the user and announces `updated`.
  ///
  /// When nobody was signed in this is a sign-in: `loggedIn` is announced first.
  ///
  /// - Throws: What kept the user from being stored; nothing is announced then.
  open func userDidUpdate(_ user: T) throws {
    // A store that cannot tell is not signed out; one that cannot be read fails below.
    let isSignIn = (try? containsItem()) == false
    try updateItem(user)
    announceUpdate(isSignIn: isSignIn)
  }

  /// Signs a user in: ``userDidLogIn(_:)`` without blocking.
  ///
  /// - Throws: As ``userDidLogIn(_:)``.
  open func logIn(_ user: sending T) async throws {
    let previous = Self.hasIdentity ? (try? await item()) ?? nil : nil
    let isReplacement = Self.isAnother(user, than: previous)
    try await store(user)
    announceLogIn(isReplacement: isReplacement)
  }

  /// Signs the user out: ``userDidLogOut(logoutError:)`` without blocking.
  ///
  /// - Parameter error: The reason, when an error is it.
  /// - Throws: As ``userDidLogOut(logoutError:)``.
  open func logOut(_ error: (any Error)? = nil) async throws {
    try await remove()
    announce(.loggedOut(error))
  }

  /// Updates the user: ``userDidUpdate(_:)`` without blocking.
  ///
  /// - Throws: As ``userDidUpdate(_:)``.
  open func update(_ user: sending T) async throws {
    let isSignIn = (try? await containsItem()) == false
    try await store(user)
    announceUpdate(isSignIn: isSignIn)
  }

  // MARK: - Refreshing

  /// What ``refresh(completion:)`` does; may be set at any time from any thread.
  ///
  /// It is called on the thread that asks for the refresh.
  open var refreshHandler: RefreshHandler? {
    get { handler.withLock { $0 }?.call }
    set {
      let held = newValue.map(HeldHandler.init)
      handler.withLock { $0 = held }
    }
  }

  /// Runs the ``refreshHandler`` and calls the completion exactly once.
  ///
  /// Without a handler it is called at once with `unableToRefresh` of
  /// ``RefreshHandlerError/missing``; when the handler lets go of its completion without
  /// calling it, with `unableToRefresh` of ``RefreshHandlerError/abandoned``.
  open func refresh(completion: @escaping RefreshCompletion) {
    let answer = SingleCompletion(completion)
    guard let refreshHandler else {
      answer(.unableToRefresh(error: RefreshHandlerError.missing))
      return
    }
    refreshHandler { answer($0) }
  }

  // MARK: - Announcing

  private func announceLogIn(isReplacement: Bool) {
    if isReplacement { announce(.loggedOut(nil)) }
    announce(.loggedIn)
  }

  private func announceUpdate(isSignIn: Bool) {
    if isSignIn { announce(.loggedIn) }
    announce(.updated)
  }

  private func announce(_ change: UserSessionStateChange) {
    notificationPoster?.post(
      name: .userSessionStateDidChange, object: self,
      userInfo: [UserSessionConstants.userSessionStateInfoKey: change])
  }

  // MARK: - Identity

  private static var hasIdentity: Bool { T.self is any Identifiable.Type }

  private static func isAnother(_ user: T, than previous: T?) -> Bool {
    guard let user = user as? any Identifiable, let previous = previous as? any Identifiable
    else { return false }
    return identity(of: user) != identity(of: previous)
  }

  private static func identity(of user: some Identifiable) -> AnyHashable {
    AnyHashable(user.id)
  }
}

/// A handler between the thread that set it and those that call it.
///
/// Unchecked: the old type of handlers says nothing about threads, and never did.
private struct HeldHandler: @unchecked Sendable {
  let call: RefreshHandler
}
