public import SecretStores
import Synchronization

/// Several users of one program, each with a session, one of whom is the current user.
///
/// ```swift
/// let accounts = try UserAccounts<User>(container: container)
/// try await accounts.signIn(user, as: AccountIdentifier(user.subject))
/// let session = try await accounts.currentSession()
/// ```
///
/// Every item belongs to an account by its name in the store, so that one user's items can never be
/// read as another's. Use a namespace that has no other items.
///
/// If the server permanently rejects the refresh of an account's item, the account stays listed in
/// every process, with the reason, until a user signs in to it or out of it, or it is removed.
/// Where `StoreTraits.isAtomic` holds, that is recorded in the change that removes the item, and
/// the record is removed in the change of the next sign-in, without another sync. Elsewhere it is
/// recorded before the item is removed, and the record is removed after the new item is stored.
public final class UserAccounts<User: Codable>: Sendable {
  /// The container of the users, without an account.
  public let container: StoreContainer<User>
  /// The identifier under which each account's user is stored.
  public let storageIdentifier: String
  private let notificationPoster: (any NotificationPosting)?
  let refresher: SessionRefresher<User>?
  private let sessions = Mutex<[AccountIdentifier: UserSession<User>]>([:])
  let book: AccountBook

  /// Describes where the accounts are stored; reads nothing.
  ///
  /// - Parameters:
  ///   - container: The container of the users.
  ///   - storageIdentifier: The identifier under which each account's user is stored.
  ///   - notificationPoster: The poster of notifications for all sessions.
  ///   - refresher: How and when users are refreshed; `nil` when they are not.
  /// - Throws: `invalidName`.
  public init(
    container: some StoreBackedContainer<User>, storageIdentifier: String = "user",
    notificationPoster: (any NotificationPosting)? = nil,
    refresher: SessionRefresher<User>? = nil
  ) throws(StoreError) {
    self.container = try container.storeContainer()
    self.storageIdentifier = storageIdentifier
    self.notificationPoster = notificationPoster
    self.refresher = refresher
    book = AccountBook(
      store: self.container.store, namespace: self.container.namespace,
      userIdentifier: storageIdentifier)
  }

  // MARK: - Finding accounts

  // There are no blocking twins: at the top level of `main.swift`, Swift picks the blocking one of
  // two functions of the same name, even if the call says `await`.

  /// Returns the accounts, in ascending order: those that have items, and those that have none
  /// because the server rejected it.
  ///
  /// - Throws: As `SecretStore.names(in:)`.
  public func all() async throws -> [AccountIdentifier] {
    let book = book
    return try await threads.blocking { try book.accounts() }
  }

  /// Returns the current account, if there is one; its user may have been rejected.
  ///
  /// - Throws: As `SecretStore.value(for:)`.
  public func current() async throws -> AccountIdentifier? {
    let book = book
    return try await threads.blocking { try book.current() }
  }

  /// Returns the session of an account, whether or not its user is signed in: the same object each
  /// time.
  public func session(of account: AccountIdentifier) -> UserSession<User> {
    sessions.withLock { sessions in
      if let session = sessions[account] { return session }
      let session = makeSession(of: account)
      sessions[account] = session
      return session
    }
  }

  /// Returns the session of the current account, if there is one.
  ///
  /// - Throws: As `current()`.
  public func currentSession() async throws -> UserSession<User>? {
    try await current().map(session(of:))
  }

  private func makeSession(of account: AccountIdentifier) -> UserSession<User> {
    let container = container.items(of: account)
    guard let refresher else {
      return UserSession(
        container: container, storageIdentifier: storageIdentifier,
        notificationPoster: notificationPoster)
    }
    return UserSession(
      container: container, storageIdentifier: storageIdentifier,
      notificationPoster: notificationPoster, refresher: refresher)
  }

  // MARK: - Changing

  /// Signs a user in, and makes the account the current one.
  ///
  /// The user is stored first, then the current account. When this throws, the user may be signed
  /// in and not current.
  ///
  /// - Throws: As the session's `signIn(_:)`.
  public func signIn(_ user: sending User, as account: AccountIdentifier) async throws {
    try await session(of: account).signIn(user)
    let book = book
    try await threads.blocking { try book.makeCurrent(account) }
  }

  /// Makes an existing account the current one.
  ///
  /// - Throws: `notSignedIn` when it is not listed; otherwise as `SecretStore.apply(_:)`.
  public func makeCurrent(_ account: AccountIdentifier) async throws {
    let (book, session) = (book, storageIdentifier)
    try await threads.blocking {
      guard try book.isThere(account) else {
        throw SessionError(
          .notSignedIn, session: session, "there is no account \(account)")
      }
      try book.makeCurrent(account)
    }
  }

  /// Signs an account's user out and removes all of its items, and the record of a rejection; an
  /// absent account is not an error.
  ///
  /// If it was the current account, there is no current account afterwards. If this is interrupted,
  /// the account still exists with its remaining items. Nothing is sent to a server.
  ///
  /// - Throws: As `SecretStore.names(in:)` and `SecretStore.apply(_:)`.
  public func remove(_ account: AccountIdentifier) async throws {
    let book = book
    try await threads.blocking { try book.forget(account) }
    let session = session(of: account)
    if try await session.containsItem() { try await session.signOut() }
    let container = container.items(of: account)
    let names = try await threads.blocking { try book.names(of: account) }
    for name in names {
      try await ItemAddress(name, in: container.store).make([.remove(name)])
    }
    sessions.withLock { $0[account] = nil }
  }

  /// The current account, and again whenever it has changed, in any process that the store sees.
  ///
  /// While the store cannot be read, the stream stays as it is. Each access makes a new stream,
  /// which ends with its task or with the store's own stream.
  public var currentAccounts: AsyncStream<AccountIdentifier?> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: AccountIdentifier?.self, bufferingPolicy: .bufferingNewest(1))
    let events = container.store.changes()
    let book = book
    let reading = Task {
      var reported: AccountIdentifier??
      func report() async {
        do {
          let now = try await threads.blocking { try book.current() }
          if reported == .some(now) { return }
          reported = now
          continuation.yield(now)
        } catch {
          // A caller that reads the current account gets the error.
        }
      }
      await report()
      for await event in events where book.isAbout(event) { await report() }
      continuation.finish()
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }
}

private let threads = BlockingExecutor(maximumThreadCount: 2)
