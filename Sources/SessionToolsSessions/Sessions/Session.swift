import SecretStores
public import Foundation
import Synchronization

/// One item in a container: a signed-in user, a token, a profile.
///
/// ```swift
/// let session = Session<User>(container: container, storageIdentifier: "user")
/// switch session.state {
/// case .signedIn(let user): show(user)
/// case .signedOut: askForCredentials()
/// case .unavailable(let error): explain(error)
/// }
/// ```
///
/// Where the container is on a store (``StoreBackedContainer``), a refresh in any process never
/// replaces an item that was changed or removed meanwhile: a user who signed out stays signed out.
/// Stores of this package compare the item and change it in one step, except the Secret Service.
/// There, and in stores of others, a change waits for a refresh that is about to store its item.
///
/// Unchecked, because Swift cannot check a class that may be subclassed: all stored properties are
/// constants of Sendable types. A subclass with state of its own must make the same promise.
///
/// ## Blocking and async members
///
/// Each operation blocks the calling thread while it reads or writes, and has an `async` twin that
/// blocks no thread of the cooperative pool. The twins have the same name, and in an `async`
/// function Swift picks the `async` one; only ``state`` is a property, whose twin is
/// ``currentState()``.
///
/// At the top level of `main.swift` Swift picks the blocking one of two members of the same name,
/// even after `await`.
///
/// ## Code that comes from iOS
///
/// iOS-SessionTools' own members block, and have no twins, so that code that calls them in an
/// `async` function still compiles. A subclass may override them: the blocking members call them,
/// and the `async` ones do not, which a subclass overrides as well.
///
/// | iOS-SessionTools | here |
/// |---|---|
/// | ``updateItem(_:)``, ``deleteItem()`` | `save(_:)`, `remove()` |
/// | ``hasItem``, ``currentItem`` | `containsItem()`, `item()`, or ``state`` |
/// | `userDidLogIn(_:)`, `didLogIn(_:)` | `signIn(_:)` of ``UserSession`` |
/// | `userDidUpdate(_:)`, `didUpdate(_:)` | `update(_:)` |
/// | `userDidLogOut(logoutError:)`, `didLogOut(_:)` | `signOut(_:)` |
/// | ``UserSession/isLoggedIn`` | ``UserSession/isSignedIn`` |
/// | ``UserSession/refresh(completion:)`` | ``validItem(_:)``, ``Refreshable/refreshNow()`` |
open class Session<T: Codable>: RefreshingSession, @unchecked Sendable {
  /// The container of the item.
  public let container: AnySessionContainer<T>
  /// The item's name in the container.
  public let storageIdentifier: String
  /// The poster of subclasses' notifications; this class posts none.
  public let notificationPoster: (any NotificationPosting)?
  /// The encoder of the item, where the container stores JSON.
  public let encoder: JSONEncoder
  /// The decoder of the item, where the container stores JSON.
  public let decoder: JSONDecoder
  /// How and when the item is refreshed; `nil` when it is not.
  public let refresher: SessionRefresher<T>?
  /// Where the item is, and what it shares with other sessions of it, once that is known.
  let resolution = Mutex(SessionResolution<T>())

  /// Makes a session whose item is not refreshed; reads nothing.
  public init(
    container: AnySessionContainer<T>, storageIdentifier: String,
    notificationPoster: (any NotificationPosting)? = nil,
    itemEncoder: JSONEncoder = JSONEncoder(), itemDecoder: JSONDecoder = JSONDecoder()
  ) {
    self.container = container
    self.storageIdentifier = storageIdentifier
    self.notificationPoster = notificationPoster
    refresher = nil
    encoder = itemEncoder
    decoder = itemDecoder
  }

  /// Makes a session whose item is refreshed; reads nothing.
  public init<Container: SessionContainer>(
    container: Container, storageIdentifier: String,
    notificationPoster: (any NotificationPosting)? = nil, refresher: SessionRefresher<T>,
    itemEncoder: JSONEncoder = JSONEncoder(), itemDecoder: JSONDecoder = JSONDecoder()
  ) where Container.Item == T {
    self.container = AnySessionContainer(container)
    self.storageIdentifier = storageIdentifier
    self.notificationPoster = notificationPoster
    self.refresher = refresher
    encoder = itemEncoder
    decoder = itemDecoder
  }

  /// Makes a session of any container; reads nothing.
  public convenience init<Container: SessionContainer>(
    container: Container, storageIdentifier: String,
    notificationPoster: (any NotificationPosting)? = nil,
    itemEncoder: JSONEncoder = JSONEncoder(), itemDecoder: JSONDecoder = JSONDecoder()
  ) where Container.Item == T {
    self.init(
      container: AnySessionContainer(container), storageIdentifier: storageIdentifier,
      notificationPoster: notificationPoster, itemEncoder: itemEncoder, itemDecoder: itemDecoder)
  }

  // MARK: - State

  /// Whether a user is signed in now; blocks while it reads.
  ///
  /// The first read of a keychain opens it, which may take as long as a keyring answers, or ask
  /// someone for a passphrase. In an `async` function use ``currentState()``.
  ///
  /// A store that is locked, unreachable or damaged, and an item that cannot be decoded, are
  /// `unavailable`, never `signedOut`. If the server rejected the item of an ``account``, in any
  /// process, the reason is `rejected`, with a ``RecordedRejection`` unless this process has the
  /// handler's error.
  open var state: SessionState<T> {
    do {
      if let item = try item() { return .signedIn(item) }
      let reason = try signOutReason()
      if mayHaveSignedInMeanwhile(reason), let item = try item() { return .signedIn(item) }
      return .signedOut(reason)
    } catch {
      return .unavailable(error)
    }
  }

  /// Returns whether a user is signed in now: ``state`` without blocking.
  ///
  /// Behind a locked gate it is `unavailable` at once: no user is prompted for it.
  open func currentState() async -> SessionState<T> {
    do {
      if let item = try await UnattendedRead.make({ try await item() }) { return .signedIn(item) }
      let reason = try await signOutReason()
      if mayHaveSignedInMeanwhile(reason),
        let item = try await UnattendedRead.make({ try await item() })
      {
        return .signedIn(item)
      }
      return .signedOut(reason)
    } catch {
      return .unavailable(error)
    }
  }

  // MARK: - Reading

  /// Returns whether there is an item.
  ///
  /// - Throws: The error that keeps the container from knowing.
  open func containsItem() throws -> Bool {
    try storage().contains()
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: The error that keeps the container from knowing.
  open func containsItem() async throws -> Bool {
    try await storage().contains()
  }

  /// Returns the item; `nil` only when it is absent.
  ///
  /// - Throws: An error when the item cannot be read: locked, damaged, not decodable.
  open func item() throws -> T? {
    try storage().load()
  }

  /// Returns the item; `nil` only when it is absent.
  ///
  /// - Throws: An error when the item cannot be read: locked, damaged, not decodable.
  open func item() async throws -> T? {
    try await storage().load()
  }

  // MARK: - Writing

  /// Stores an item, replacing the older one if there is one.
  ///
  /// - Throws: On a store, as `SecretStore.apply(_:)`, `invalidName`, and `timedOut` when other
  ///   changes of the item take longer than 10 s, where changes wait; `unencodable`. Otherwise the
  ///   container's errors.
  open func save(_ item: sending T) async throws {
    let shared = try await sharedState()
    try await storage().save(item)
    shared.reason = .unknown
  }

  /// Removes the item; an absent item is not an error.
  ///
  /// - Throws: On a store, as `SecretStore.apply(_:)`, `invalidName`, and `timedOut` when other
  ///   changes of the item take longer than 10 s, where changes wait. Otherwise the container's
  ///   errors.
  open func remove() async throws {
    let shared = try await sharedState()
    let unsavedCount = shared.unsavedCount
    if (try? await containsItemOrRecord()) ?? true {
      try await shared.leaving(.requested(nil)) { try await storage().remove() }
    }
    shared.forgetRefresh(ofFirst: unsavedCount, in: shared)
  }

  // MARK: - For code that comes from iOS

  /// Whether there is an item; `false` also when the container cannot tell.
  ///
  /// Use ``state`` or `containsItem()` where the difference matters.
  open var hasItem: Bool {
    // The old accessor cannot report more.
    (try? containsItem()) ?? false
  }

  /// The item; `nil` when it is absent, and also when it cannot be read.
  ///
  /// Use ``state`` or `item()` where the difference matters.
  open var currentItem: T? {
    // The old accessor cannot report more.
    (try? item()) ?? nil
  }

  /// Stores an item, replacing the older one if there is one.
  ///
  /// `nil` changes nothing, and in particular removes nothing.
  ///
  /// - Throws: On a store, as `SecretStore.apply(_:)`, `invalidName`, and `timedOut` when other
  ///   changes of the item take longer than 10 s, where changes wait; `unencodable`. Otherwise the
  ///   container's errors.
  open func updateItem(_ model: T?) throws {
    guard let model else { return }
    let shared = try sharedState()
    try storage().save(model)
    shared.reason = .unknown
  }

  /// Removes the item; an absent item is not an error.
  ///
  /// - Throws: On a store, as `SecretStore.apply(_:)`, `invalidName`, and `timedOut` when other
  ///   changes of the item take longer than 10 s, where changes wait. Otherwise the container's
  ///   errors.
  open func deleteItem() throws {
    let shared = try sharedState()
    let unsavedCount = shared.unsavedCount
    // Creates nothing if there is nothing to remove; if that is unknown, removes.
    if (try? containsItemOrRecord()) ?? true {
      try shared.leaving(.requested(nil)) { try storage().remove() }
    }
    shared.forgetRefresh(ofFirst: unsavedCount, in: shared)
  }

  // MARK: - For subclasses of this package

  /// The handler of iOS-SessionTools, if there is one.
  var oldHandler: HeldHandler? { nil }

  /// Announces that this session refreshed the item of a user.
  func didRefresh(_ user: UserIdentifier?) {}

  /// Announces that the item was removed, because the server rejected it when this session
  /// refreshed it.
  func wasRejected(_ error: any Error, _ user: UserIdentifier?) {}
}

/// The storage and the shared state of a session's item, found when first needed.
struct SessionResolution<Item: Codable> {
  /// Where the item is kept.
  var storage: (any ItemStorage<Item>)?
  /// The state that the session shares with other sessions of the same item.
  var membership: SharedStateMembership?
  /// Whether the shared state is certain to be that of this item.
  var isFinal = false
}

extension Session {
  /// Stores an item, replacing the older one if there is one; blocks.
  ///
  /// - Throws: As the `async` twin.
  public func save(_ item: T) throws { try updateItem(item) }

  /// Removes the item; an absent item is not an error; blocks.
  ///
  /// - Throws: As the `async` twin.
  public func remove() throws { try deleteItem() }

  /// The account that owns the item; `nil` where users are not distinguished, as without
  /// ``UserAccounts``.
  public var account: AccountIdentifier? {
    // An item with an invalid name does not exist, and belongs to no account.
    (try? container.storeContainer())?.account
  }

  /// Returns where the session's item is kept.
  ///
  /// - Throws: `invalidName`.
  func storage() throws(StoreError) -> any ItemStorage<T> {
    if let storage = resolution.withLock({ $0.storage }) { return storage }
    let found: any ItemStorage<T> =
      if let container = try container.storeContainer() {
        StoreItemStorage(
          address: try ItemAddress(storageIdentifier, in: container), coding: container.coding,
          encoder: encoder, decoder: decoder)
      } else {
        ContainerItemStorage(
          container: container, identifier: storageIdentifier, encoder: encoder, decoder: decoder)
      }
    return resolution.withLock { resolution in
      // Another thread may have been faster.
      let storage = resolution.storage ?? found
      resolution.storage = storage
      return storage
    }
  }

  /// Returns the state that this session shares with other sessions of the same item.
  ///
  /// - Throws: `invalidName`.
  func sharedState() throws(StoreError) -> SharedSessionState {
    if let state = finalState { return state }
    let joined = try storage().joinSharedState()
    return resolution.withLock { resolution in
      // A membership that is not final is kept, with what it knows, until a final one is found; and
      // another thread may have been faster.
      if resolution.isFinal || !joined.isFinal, let state = resolution.membership?.state {
        return state
      }
      (resolution.membership, resolution.isFinal) = joined
      return joined.membership.state
    }
  }

  /// Returns the state that this session shares with other sessions of the same item.
  ///
  /// - Throws: `invalidName`.
  func sharedState() async throws(StoreError) -> SharedSessionState {
    if let state = finalState { return state }
    let session: any RefreshingSession = self
    return try await threads.blocking { () throws(StoreError) in try session.sharedState() }
  }

  /// Returns whether a user may have signed in since no item was found: with the item stored, the
  /// record of the reason is removed, and none is found.
  private func mayHaveSignedInMeanwhile(_ reason: SignOutReason<any Error>) -> Bool {
    guard case .unknown = reason else { return false }
    return (try? storage())?.recordsRejections ?? false
  }

  /// Returns why no user is signed in, if that is so.
  private func signOutReason() throws -> SignOutReason<any Error> {
    let (shared, storage) = (try sharedState(), try storage())
    guard storage.recordsRejections else { return shared.reason }
    return shared.reason(recorded: try storage.recordedRejection())
  }

  /// Returns why no user is signed in, if that is so.
  private func signOutReason() async throws -> SignOutReason<any Error> {
    let (shared, storage) = (try await sharedState(), try storage())
    guard storage.recordsRejections else { return shared.reason }
    return shared.reason(recorded: try await storage.recordedRejection())
  }

  /// Returns whether there is an item, or the record that it was rejected.
  private func containsItemOrRecord() throws -> Bool {
    if try containsItem() { return true }
    return try storage().recordedRejection() != nil
  }

  /// Returns whether there is an item, or the record that it was rejected.
  private func containsItemOrRecord() async throws -> Bool {
    if try await containsItem() { return true }
    return try await storage().recordedRejection() != nil
  }

  private var finalState: SharedSessionState? {
    resolution.withLock { $0.isFinal ? $0.membership?.state : nil }
  }
}

/// The threads on which stores return their identity, which may block.
private let threads = BlockingExecutor(maximumThreadCount: 2)
