import SecretStores
public import Foundation

/// A container that never reports "unknown" as "absent", has operations that do not block, and
/// reports every change of an item.
///
/// Implement the four methods of ``SessionContainer``, the throwing
/// ``containsItem(forIdentifier:)`` and ``itemChanges(forIdentifier:)``; the rest has defaults, and
/// the `async` ones run the blocking calls on a dispatch queue.
///
/// The `async` operations have separate names. In `async` functions Swift prefers `async`
/// overloads, so an overload under an old name would break every such caller that does not use
/// `await`; and for an `async` requirement Swift would use a blocking function of the same name.
public protocol ObservableSessionContainer<Item>: SessionContainer, Sendable {
  /// Returns whether there is an item.
  ///
  /// - Throws: The error that keeps the container from knowing.
  func containsItem(forIdentifier identifier: String) throws -> Bool
  /// Returns whether there is an item.
  ///
  /// - Throws: The error that keeps the container from knowing.
  func asyncContainsItem(forIdentifier identifier: String) async throws -> Bool

  /// Reads an item; `nil` only when the item is absent.
  ///
  /// - Throws: An error when the item cannot be read: locked, damaged, not decodable.
  func loadItem(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Item?
  /// Reads an item; `nil` only when the item is absent.
  ///
  /// - Throws: An error when the item cannot be read: locked, damaged, not decodable.
  func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder
  ) async throws -> sending Item?

  /// Stores an item without blocking, as `storeItem` does.
  ///
  /// - Throws: The error that kept the item from being stored.
  func asyncStoreItem(
    _ item: sending Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) async throws

  /// Removes an item without blocking, as `removeItem` does.
  ///
  /// - Throws: The error that kept the item from being removed.
  func asyncRemoveItem(forIdentifier identifier: String) async throws

  /// Returns a stream with an element each time the item may have changed, from now on.
  ///
  /// Changes that come faster than they are read are reported once. Each call makes a new stream.
  func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void>
}

extension ObservableSessionContainer {
  /// Runs the blocking twin on a dispatch queue.
  ///
  /// - Throws: As the blocking twin.
  public func asyncContainsItem(forIdentifier identifier: String) async throws -> Bool {
    try await threads.blocking {
      try containsItem(forIdentifier: identifier)
    }
  }

  /// Reads through `item`, and rejects its `nil` if the container reports an item.
  ///
  /// - Throws: What `item` throws, or `StoreError.undecodable` when there is an item that the
  ///   container does not return.
  public func loadItem(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Item? {
    // Twice, because the item may have been stored between the two calls.
    for _ in 1...2 {
      if let item = try item(forIdentifier: identifier, jsonDecoder: jsonDecoder) { return item }
      guard try containsItem(forIdentifier: identifier) else { return nil }
    }
    throw StoreError(
      .undecodable, store: "session container",
      reason: "the container has an item \(identifier), but did not return it as a \(Item.self)")
  }

  /// Runs the blocking twin on a dispatch queue.
  ///
  /// - Throws: As the blocking twin.
  public func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder
  ) async throws -> sending Item? {
    try await threads.blocking {
      try loadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
    }
  }

  /// Runs `storeItem` on a dispatch queue.
  ///
  /// - Throws: As `storeItem`.
  public func asyncStoreItem(
    _ item: sending Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) async throws {
    let item = Handover(item)
    try await threads.blocking {
      try storeItem(item.value, forIdentifier: identifier, jsonEncoder: jsonEncoder)
    }
  }

  /// Runs `removeItem` on a dispatch queue.
  ///
  /// - Throws: As `removeItem`.
  public func asyncRemoveItem(forIdentifier identifier: String) async throws {
    try await threads.blocking {
      try removeItem(forIdentifier: identifier)
    }
  }
}

/// Shared by all containers, so that many of them do not need many threads.
private let threads = BlockingExecutor(maximumThreadCount: 8)
