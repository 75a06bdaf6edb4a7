public import Foundation

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
/// The blocking members read and write on the calling thread. Each has an `async` twin that
/// holds no thread of the cooperative pool.
///
/// Unchecked, because Swift checks no class that may be subclassed: all stored properties are
/// constants of Sendable types. A subclass that adds state of its own restates the promise.
open class Session<T: Codable>: @unchecked Sendable {
  /// Where the item is kept.
  public let container: AnySessionContainer<T>
  /// The item's name in the container.
  public let storageIdentifier: String
  /// Who posts the notifications of subclasses; this class posts none.
  public let notificationPoster: (any NotificationPosting)?
  /// What the item is encoded with, where the container keeps JSON.
  public let encoder: JSONEncoder
  /// What the item is decoded with, where the container keeps JSON.
  public let decoder: JSONDecoder

  /// Makes a session; reads nothing.
  public init(
    container: AnySessionContainer<T>, storageIdentifier: String,
    notificationPoster: (any NotificationPosting)? = nil,
    itemEncoder: JSONEncoder = JSONEncoder(), itemDecoder: JSONDecoder = JSONDecoder()
  ) {
    self.container = container
    self.storageIdentifier = storageIdentifier
    self.notificationPoster = notificationPoster
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

  /// Whether someone is signed in, now; blocks while it reads.
  ///
  /// A store that is locked, unreachable or damaged, and an item that cannot be decoded, are
  /// `unavailable`, never `signedOut`.
  open var state: SessionState<T> {
    do {
      return try item().map(SessionState.signedIn) ?? .signedOut
    } catch {
      return .unavailable(error)
    }
  }

  /// Whether someone is signed in, now: ``state`` without blocking.
  open func currentState() async -> SessionState<T> {
    do {
      return try await item().map(SessionState.signedIn) ?? .signedOut
    } catch {
      return .unavailable(error)
    }
  }

  // MARK: - Reading

  /// Whether there is an item; `false` also when the container cannot tell.
  ///
  /// Ask ``state`` or `containsItem()` where the difference matters.
  open var hasItem: Bool {
    // The old accessor has no way to say more.
    (try? containsItem()) ?? false
  }

  /// The item; `nil` when there is none, and also when it cannot be read.
  ///
  /// Ask ``state`` or `item()` where the difference matters.
  open var currentItem: T? {
    // The old accessor has no way to say more.
    (try? item()) ?? nil
  }

  /// Whether there is an item.
  ///
  /// - Throws: What keeps the container from telling.
  open func containsItem() throws -> Bool {
    try container.containsItem(forIdentifier: storageIdentifier)
  }

  /// Whether there is an item.
  ///
  /// - Throws: What keeps the container from telling.
  open func containsItem() async throws -> Bool {
    try await container.asyncContainsItem(forIdentifier: storageIdentifier)
  }

  /// The item; `nil` when there is none, and for no other reason.
  ///
  /// - Throws: What keeps the container from answering: locked, damaged, not decodable.
  open func item() throws -> T? {
    try container.loadItem(forIdentifier: storageIdentifier, jsonDecoder: decoder)
  }

  /// The item; `nil` when there is none, and for no other reason.
  ///
  /// - Throws: What keeps the container from answering: locked, damaged, not decodable.
  open func item() async throws -> T? {
    try await container.asyncLoadItem(forIdentifier: storageIdentifier, jsonDecoder: decoder)
  }

  // MARK: - Writing

  /// Stores an item in the place of the older one, if there is one.
  ///
  /// `nil` changes nothing, and in particular removes nothing: that is ``deleteItem()``.
  ///
  /// - Throws: What kept the item from being stored.
  open func updateItem(_ model: T?) throws {
    guard let model else { return }
    try container.storeItem(model, forIdentifier: storageIdentifier, jsonEncoder: encoder)
  }

  /// Stores an item in the place of the older one: ``updateItem(_:)`` without blocking.
  ///
  /// - Throws: What kept the item from being stored.
  open func store(_ item: sending T) async throws {
    try await container.asyncStoreItem(
      item, forIdentifier: storageIdentifier, jsonEncoder: encoder)
  }

  /// Removes the item; no error when there is none.
  ///
  /// - Throws: What kept the item from being removed.
  open func deleteItem() throws {
    try container.removeItem(forIdentifier: storageIdentifier)
  }

  /// Removes the item: ``deleteItem()`` without blocking.
  ///
  /// - Throws: What kept the item from being removed.
  open func remove() async throws {
    try await container.asyncRemoveItem(forIdentifier: storageIdentifier)
  }
}
