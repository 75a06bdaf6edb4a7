import SecretStores
public import Foundation
import Synchronization

/// The session of a user who signs in and out.
///
/// ```swift
/// let session = UserSession<User>(
///   container: container, storageIdentifier: "user",
///   notificationPoster: NotificationCenter.default)
/// try session.signIn(user)
/// ```
///
/// Each change is announced as `Notification.Name.userSessionStateDidChange` with
/// the session as its object, on the calling thread, after the change is stored and as durable
/// as the container makes it. A change that failed is not announced. Changes made at the same
/// time by several threads are each announced, in any order; read the session for its current
/// state.
///
/// Unchecked for the reason ``Session`` gives; the one variable is behind a mutex.
open class UserSession<T: Codable>: Session<T>, UserSessionTrackable, Refreshable,
  SharedRefreshable, @unchecked Sendable
{
  private let handler: Mutex<HeldHandler?>

  /// Makes a user's session; reads nothing.
  ///
  /// - Parameters:
  ///   - container: The container of the user.
  ///   - storageIdentifier: The user's name in the container.
  ///   - notificationPoster: The poster of notifications, such as `NotificationCenter.default`.
  ///   - refreshHandler: The handler that ``refresh(completion:)`` calls.
  ///   - itemEncoder: The encoder of the user, where the container stores JSON.
  ///   - itemDecoder: The decoder of the user, where the container stores JSON.
  public init<Container: SessionContainer>(
    container: Container, storageIdentifier: String,
    notificationPoster: (any NotificationPosting)? = nil, refreshHandler: RefreshHandler? = nil,
    itemEncoder: JSONEncoder = JSONEncoder(), itemDecoder: JSONDecoder = JSONDecoder()
  ) where Container.Item == T {
    handler = Mutex(refreshHandler.map(HeldHandler.init))
    super.init(
      container: AnySessionContainer(container), storageIdentifier: storageIdentifier,
      notificationPoster: notificationPoster, itemEncoder: itemEncoder, itemDecoder: itemDecoder)
  }

  /// Makes the session of a user whose item is refreshed; reads nothing.
  ///
  /// - Parameters:
  ///   - container: The container of the user.
  ///   - storageIdentifier: The user's name in the container.
  ///   - notificationPoster: The poster of notifications, such as `NotificationCenter.default`.
  ///   - refresher: How and when the user's item is refreshed.
  ///   - itemEncoder: The encoder of the user, where the container stores JSON.
  ///   - itemDecoder: The decoder of the user, where the container stores JSON.
  public override init<Container: SessionContainer>(
    container: Container, storageIdentifier: String,
    notificationPoster: (any NotificationPosting)? = nil, refresher: SessionRefresher<T>,
    itemEncoder: JSONEncoder = JSONEncoder(), itemDecoder: JSONDecoder = JSONDecoder()
  ) where Container.Item == T {
    handler = Mutex(nil)
    super.init(
      container: container, storageIdentifier: storageIdentifier,
      notificationPoster: notificationPoster, refresher: refresher, itemEncoder: itemEncoder,
      itemDecoder: itemDecoder)
  }

  // MARK: - The user

  /// The user; `nil` when no user is signed in, and also when the user cannot be read.
  ///
  /// Use ``Session/state`` where the difference matters.
  open var currentUser: T? { currentItem }

  /// Whether a user is signed in; `false` also when the container cannot tell.
  ///
  /// Use ``Session/state`` where the difference matters.
  public var isSignedIn: Bool { isLoggedIn }

  /// Stores the user who signed in and announces `loggedIn`.
  ///
  /// Where users are `Identifiable` and another one was signed in, `loggedOut(nil)` is announced
  /// first; not while the gate is locked, because the previous user is not read then.
  ///
  /// - Throws: As `save(_:)`; nothing is then announced.
  open func signIn(_ user: sending T) async throws {
    let previous = await storedUserIdentifier()
    let identifier = UserIdentifier(of: user)
    let before = try await sharedState()
    let unsavedCount = before.unsavedCount
    try await save(user)
    try await sharedState().forgetRefresh(ofFirst: unsavedCount, in: before)
    announceSignIn(identifier, replacing: previous)
  }

  /// Removes the user and announces `loggedOut`.
  ///
  /// - Parameter error: The error that caused it, if any.
  /// - Throws: As `remove()`; nothing is then announced.
  open func signOut(_ error: (any Error)? = nil) async throws {
    let user = await storedUserIdentifier()
    try await sharedState().leaving(.requested(error)) { try await remove() }
    announceSignOut(error, user)
  }

  /// Stores the changed user and announces `updated`.
  ///
  /// If no user was signed in, this is a sign-in: `loggedIn` is announced first.
  ///
  /// - Throws: As `save(_:)`; nothing is then announced.
  open func update(_ user: sending T) async throws {
    let isSignIn = (try? await containsItem()) == false
    let identifier = UserIdentifier(of: user)
    try await save(user)
    announceUpdate(identifier, isSignIn: isSignIn)
  }

  // MARK: - Refreshing

  /// The handler that ``refresh(completion:)`` calls in a session without a ``Session/refresher``;
  /// may be set at any time from any thread.
  ///
  /// It is called on a thread of its own, once for all concurrent callers, and stores the user
  /// itself, such as by ``userDidUpdate(_:)``. A session made with a ``SessionRefresher`` can do
  /// more.
  open var refreshHandler: RefreshHandler? {
    get { handler.withLock { $0 }?.call }
    set {
      let held = newValue.map(HeldHandler.init)
      handler.withLock { $0 = held }
    }
  }

  override var oldHandler: HeldHandler? { refreshHandler.map(HeldHandler.init) }

  /// Refreshes and calls the completion exactly once, on any thread: ``Session/validItem(_:)`` with
  /// `.always` for code with completions.
  ///
  /// Concurrent callers share one refresh. The error is `noToken` when no user is signed in, and
  /// otherwise `unableToRefresh` with what ``Session/validItem(_:)`` throws. A session with neither
  /// a refresher nor a ``refreshHandler`` fails with ``SessionError/Code/noRefreshHandler``; a
  /// handler that releases its completion without calling it, with ``SessionError/Code/abandoned``.
  open func refresh(completion: @escaping RefreshCompletion) {
    let answer = SingleCompletion(of: storageIdentifier, completion)
    guard refresher != nil || oldHandler != nil else {
      answer(.unableToRefresh(error: noRefreshHandler))
      return
    }
    let session: any RefreshingSession = self
    // Not on the cooperative pool, whose threads may all wait for this completion.
    Task(executorPreference: completionThreads) {
      do {
        try await session.refreshAlways()
        answer(nil)
      } catch let error as RefreshError {
        answer(error)
      } catch SessionError.notSignedIn {
        answer(.noToken)
      } catch {
        answer(.unableToRefresh(error: error))
      }
    }
  }

  override func didRefresh(_ user: UserIdentifier?) {
    announce(.updated, user)
  }

  override func wasRejected(_ error: any Error, _ user: UserIdentifier?) {
    announce(.loggedOut(error), user)
  }

  // MARK: - For code that comes from iOS

  /// Whether a user is signed in; `false` also when the container cannot tell.
  ///
  /// Use ``Session/state`` where the difference matters.
  open var isLoggedIn: Bool { hasItem }

  /// Stores the user who signed in and announces `loggedIn`: the blocking `signIn(_:)`.
  ///
  /// - Throws: As `signIn(_:)`.
  open func userDidLogIn(_ user: T) throws {
    // An unreadable user can be replaced; storing to an unreadable store fails below.
    let previous = storedUserIdentifier
    let identifier = UserIdentifier(of: user)
    let before = try sharedState()
    let unsavedCount = before.unsavedCount
    try updateItem(user)
    try sharedState().forgetRefresh(ofFirst: unsavedCount, in: before)
    announceSignIn(identifier, replacing: previous)
  }

  /// Removes the user and announces `loggedOut`: the blocking `signOut(_:)`.
  ///
  /// - Parameter error: The error that caused it, if any.
  /// - Throws: As `signOut(_:)`.
  open func userDidLogOut(logoutError error: (any Error)?) throws {
    let user = storedUserIdentifier
    try sharedState().leaving(.requested(error)) { try deleteItem() }
    announceSignOut(error, user)
  }

  /// Stores the changed user and announces `updated`: the blocking `update(_:)`.
  ///
  /// - Throws: As `update(_:)`.
  open func userDidUpdate(_ user: T) throws {
    // An unreadable store does not count as signed out; storing to it fails below.
    let isSignIn = (try? containsItem()) == false
    try updateItem(user)
    announceUpdate(UserIdentifier(of: user), isSignIn: isSignIn)
  }

  // MARK: - Announcing

  func announceSignIn(_ user: UserIdentifier?, replacing replaced: UserIdentifier?) {
    if let user, let replaced, user != replaced { announceSignOut(nil, replaced) }
    announce(.loggedIn, user)
  }

  private func announceSignOut(_ error: (any Error)?, _ user: UserIdentifier?) {
    SessionEvent.report(
      .signedOut(
        session: reported, .requested(error.map { SessionEvent.reason($0) })))
    announce(.loggedOut(error), user)
  }

  private func announceUpdate(_ user: UserIdentifier?, isSignIn: Bool) {
    if isSignIn { announce(.loggedIn, user) }
    announce(.updated, user)
  }

  private func announce(_ change: UserSessionStateChange, _ user: UserIdentifier?) {
    guard let notificationPoster else { return }
    var info: [AnyHashable: Any] = [
      UserSessionConstants.userSessionStateInfoKey: change,
      UserSessionConstants.sessionIdentifierInfoKey: storageIdentifier,
    ]
    info[UserSessionConstants.userIdentifierInfoKey] = user?.value
    notificationPoster.post(name: .userSessionStateDidChange, object: self, userInfo: info)
  }

  // MARK: - Identity

  private static var hasIdentity: Bool { T.self is any Identifiable.Type }

  private var storedUserIdentifier: UserIdentifier? {
    // It is needed only for notifications.
    guard Self.hasIdentity, notificationPoster != nil, let user = (try? item()) ?? nil else {
      return nil
    }
    return UserIdentifier(of: user)
  }

  func storedUserIdentifier() async -> UserIdentifier? {
    guard Self.hasIdentity, notificationPoster != nil else { return nil }
    // A sign-out must not prompt the user to authenticate.
    let user = (try? await UnattendedRead.make { try await item() }) ?? nil
    return user.flatMap(UserIdentifier.init(of:))
  }
}

// What blocks calls what a subclass of older code may override; the `async` twins do not.
extension UserSession {
  /// Stores the user who signed in and announces `loggedIn`; blocks.
  ///
  /// - Throws: As the `async` twin.
  public func signIn(_ user: T) throws { try userDidLogIn(user) }

  /// Removes the user and announces `loggedOut`; blocks.
  ///
  /// - Parameter error: The error that caused it, if any.
  /// - Throws: As the `async` twin.
  public func signOut(_ error: (any Error)? = nil) throws {
    try userDidLogOut(logoutError: error)
  }

  /// Stores the changed user and announces `updated`; blocks.
  ///
  /// - Throws: As the `async` twin.
  public func update(_ user: T) throws { try userDidUpdate(user) }
}
