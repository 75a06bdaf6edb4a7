import Dispatch
public import Foundation

/// A container that never passes off "cannot tell" as "absent", answers without blocking, and
/// tells when an item changes, whoever changed it.
///
/// Write the four methods of ``SessionContainer``, the throwing ``containsItem(forIdentifier:)``
/// and ``itemChanges(forIdentifier:)``; the rest has defaults, whose `async` ones run the
/// blocking calls on a dispatch queue.
///
/// The `async` operations have names of their own. In `async` functions Swift prefers `async`
/// overloads, so a twin under an old name would break every such caller that has no `await`;
/// and for an `async` requirement it takes a blocking function of the same name.
public protocol ObservableSessionContainer<Item>: SessionContainer, Sendable {
  /// Whether there is an item.
  ///
  /// - Throws: What keeps the container from telling.
  func containsItem(forIdentifier identifier: String) throws -> Bool
  /// Whether there is an item.
  ///
  /// - Throws: What keeps the container from telling.
  func asyncContainsItem(forIdentifier identifier: String) async throws -> Bool

  /// Reads an item; `nil` when there is none, and for no other reason.
  ///
  /// - Throws: What keeps the container from answering: locked, damaged, not decodable.
  func loadItem(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Item?
  /// Reads an item; `nil` when there is none, and for no other reason.
  ///
  /// - Throws: What keeps the container from answering: locked, damaged, not decodable.
  func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder
  ) async throws -> sending Item?

  /// Stores an item: `storeItem`, without blocking.
  ///
  /// - Throws: What kept the item from being stored.
  func asyncStoreItem(
    _ item: sending Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) async throws

  /// Removes an item: `removeItem`, without blocking.
  ///
  /// - Throws: What kept the item from being removed.
  func asyncRemoveItem(forIdentifier identifier: String) async throws

  /// An element each time the item may have changed, from now on.
  ///
  /// Changes that come faster than they are read are told once. Each call gives a stream of
  /// its own.
  func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void>
}

extension ObservableSessionContainer {
  /// Runs the blocking twin on a dispatch queue.
  ///
  /// - Throws: As the blocking twin.
  public func asyncContainsItem(forIdentifier identifier: String) async throws -> Bool {
    try await lanes.queue.blocking {
      try containsItem(forIdentifier: identifier)
    }
  }

  /// Reads through `item`, and does not believe its `nil` while the container says that there
  /// is an item.
  ///
  /// - Throws: What `item` throws, or `StoreError.undecodable` when there is an item that the
  ///   container does not give.
  public func loadItem(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Item? {
    // Twice, because the item may have been stored between the two questions.
    for _ in 1...2 {
      if let item = try item(forIdentifier: identifier, jsonDecoder: jsonDecoder) { return item }
      guard try containsItem(forIdentifier: identifier) else { return nil }
    }
    throw StoreError(
      StoreError.undecodable, store: "session container",
      reason: "there is an item \(identifier), but it was not given as a \(Item.self)")
  }

  /// Runs the blocking twin on a dispatch queue.
  ///
  /// - Throws: As the blocking twin.
  public func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder
  ) async throws -> sending Item? {
    try await lanes.queue.blocking {
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
    try await lanes.queue.blocking {
      try storeItem(item.value, forIdentifier: identifier, jsonEncoder: jsonEncoder)
    }
  }

  /// Runs `removeItem` on a dispatch queue.
  ///
  /// - Throws: As `removeItem`.
  public func asyncRemoveItem(forIdentifier identifier: String) async throws {
    try await lanes.queue.blocking {
      try removeItem(forIdentifier: identifier)
    }
  }
}

/// Shared by all containers, so that many of them do not have many threads.
private let lanes = BlockingLanes("session-tools.container", count: 8)
