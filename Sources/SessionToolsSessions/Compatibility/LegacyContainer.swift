import SecretStores
import Foundation

/// A container of the old four methods, made safe to share and extended by the newer operations.
///
/// Unchecked, because the container may be anything: the recursive lock makes the conformance true
/// for all calls made through this object. The lock is recursive so that a container may call back
/// into its session.
final class LegacyContainer<Item>: ObservableSessionContainer, @unchecked Sendable {
  /// The identity of the container, when it is an object.
  let object: ObjectIdentifier?
  private let has: (String) -> Bool
  private let read: (String, JSONDecoder) throws -> Item?
  private let remove: (String) throws -> Void
  private let store: (Item, String, JSONEncoder) throws -> Void
  private let lock = NSRecursiveLock()
  /// Serial, since the lock would make its calls wait for each other anyway.
  private let thread = BlockingExecutor(maximumThreadCount: 1)
  private let observers = ItemObservers()

  init<Base: SessionContainer>(_ base: Base) where Base.Item == Item {
    object = Base.self is AnyClass ? ObjectIdentifier(base as AnyObject) : nil
    has = base.hasItem
    read = base.item
    remove = base.removeItem
    store = base.storeItem
  }

  func hasItem(forIdentifier identifier: String) -> Bool {
    lock.withLock { has(identifier) }
  }

  func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Item? {
    try lock.withLock { try read(identifier, jsonDecoder) }
  }

  func removeItem(forIdentifier identifier: String) throws {
    try lock.withLock { try remove(identifier) }
    observers.report(identifier)
  }

  func storeItem(
    _ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) throws {
    try lock.withLock { try store(item, identifier, jsonEncoder) }
    observers.report(identifier)
  }

  func containsItem(forIdentifier identifier: String) -> Bool {
    hasItem(forIdentifier: identifier)
  }

  func asyncContainsItem(forIdentifier identifier: String) async -> Bool {
    await thread.blocking { self.hasItem(forIdentifier: identifier) }
  }

  func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder
  ) async throws -> sending Item? {
    try await thread.blocking {
      try self.loadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
    }
  }

  func asyncStoreItem(
    _ item: sending Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) async throws {
    let item = Handover(item)
    try await thread.blocking {
      try self.storeItem(item.value, forIdentifier: identifier, jsonEncoder: jsonEncoder)
    }
  }

  func asyncRemoveItem(forIdentifier identifier: String) async throws {
    try await thread.blocking { try self.removeItem(forIdentifier: identifier) }
  }

  /// Returns a stream of the changes made through this object; an old container reports no others.
  func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    observers.stream(for: identifier)
  }
}
