package import SecretStores
public import Foundation

/// Any container of items of one type.
///
/// A container that conforms to ``ObservableSessionContainer`` keeps all its abilities: calls are
/// passed on to it. Any other container is called under one lock, so that this value may be shared
/// by tasks and threads even where the container may not; its `async` calls run on a dispatch
/// queue, and its change stream reports the changes made through this value and its copies. The
/// lock covers only calls made through this value: do not use such a container directly at the same
/// time.
public struct AnySessionContainer<T: Codable>: ObservableSessionContainer {
  private let base: any ObservableSessionContainer<T>

  /// Erases the type of a container.
  public init<U: SessionContainer>(_ sessionContainer: U) where U.Item == T {
    switch sessionContainer {
    case let same as AnySessionContainer<T>: base = same.base
    case let observable as any ObservableSessionContainer<T>: base = observable
    default: base = LegacyContainer(sessionContainer)
    }
  }

  /// Returns whether there is an item; `false` also when the container cannot tell.
  public func hasItem(forIdentifier identifier: String) -> Bool {
    base.hasItem(forIdentifier: identifier)
  }

  /// Reads an item; `nil` when the container returns none.
  ///
  /// - Throws: What the container throws.
  public func item(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> T? {
    try base.item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Removes an item; an absent item is not an error.
  ///
  /// - Throws: What the container throws.
  public func removeItem(forIdentifier identifier: String) throws {
    try base.removeItem(forIdentifier: identifier)
  }

  /// Stores an item, replacing an older one if there is one.
  ///
  /// - Throws: What the container throws.
  public func storeItem(
    _ item: T, forIdentifier identifier: String, jsonEncoder: JSONEncoder = JSONEncoder()
  ) throws {
    try base.storeItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Returns whether there is an item; for an old container, the result of its `hasItem`.
  ///
  /// - Throws: What the container throws.
  public func containsItem(forIdentifier identifier: String) throws -> Bool {
    try base.containsItem(forIdentifier: identifier)
  }

  /// Returns whether there is an item; for an old container, the result of its `hasItem`.
  ///
  /// - Throws: What the container throws.
  public func asyncContainsItem(forIdentifier identifier: String) async throws -> Bool {
    try await base.asyncContainsItem(forIdentifier: identifier)
  }

  /// Reads an item; `nil` only when the item is absent.
  ///
  /// - Throws: What the container throws, or `StoreError.undecodable` when it reports an item but
  ///   returns none.
  public func loadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> T? {
    try base.loadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Reads an item; `nil` only when the item is absent.
  ///
  /// - Throws: As the blocking twin.
  public func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) async throws -> sending T? {
    try await base.asyncLoadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Stores an item without blocking.
  ///
  /// - Throws: What the container throws.
  public func asyncStoreItem(
    _ item: sending T, forIdentifier identifier: String,
    jsonEncoder: JSONEncoder = JSONEncoder()
  ) async throws {
    try await base.asyncStoreItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Removes an item without blocking; an absent item is not an error.
  ///
  /// - Throws: What the container throws.
  public func asyncRemoveItem(forIdentifier identifier: String) async throws {
    try await base.asyncRemoveItem(forIdentifier: identifier)
  }

  /// Returns a stream with an element each time the item may have changed, from now on.
  public func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    base.itemChanges(forIdentifier: identifier)
  }

  // MARK: - For sessions

  /// Returns the underlying store's container, if this container is on a store.
  ///
  /// - Throws: `invalidName`.
  package func storeContainer() throws(StoreError) -> StoreContainer<T>? {
    if let wrapper = base as? any WrappingContainer<T> {
      return try wrapper.wrapped.storeContainer()?.over { wrapper.wrap($0) }
    }
    guard let base = base as? any StoreBackedContainer<T> else { return nil }
    return try base.storeContainer()
  }

  /// The identity of the container inside, when it is an object.
  var object: ObjectIdentifier? {
    if let wrapper = base as? any WrappingContainer<T> { return wrapper.wrapped.object }
    if let old = base as? LegacyContainer<T> { return old.object ?? ObjectIdentifier(old) }
    return type(of: base) is AnyClass ? ObjectIdentifier(base as AnyObject) : nil
  }
}
